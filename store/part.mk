# The numbered steps of the tables, as C strings.
STEPS := $(sort $(wildcard store/steps/*.sql))
$(B)/store/steps.inc: $(STEPS) store/part.mk
	@mkdir -p $(@D)
	for f in $(STEPS); do echo "{ \"$$f\","; sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $$f; echo '},'; done > $@
$(B)/store/sqlite_steps.o: $(B)/store/steps.inc
$(B)/store/sqlite_steps.o: CPPFLAGS += -I$(B)
