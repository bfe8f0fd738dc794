# Libraries that a measured process loads to be watched. Each has a file of its own.
-include $(wildcard collectors/part_*.mk)
