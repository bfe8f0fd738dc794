# Probes for the test of collectors: the same exactly known work with each runtime. Built as a user
# would: libc and the header of the marks. Libraries of a runtime are looked up when they run.
PROBES := host cuda

$(B)/examples/probes/%: examples/probes/%.c examples/probes/probe.h examples/probes/probe_options.h include/roimeter.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) -std=c11 $(EXAMPLE_FLAGS) -o $@ $< $(PROBE_LIBS_$*) -ldl

ALL += $(PROBES:%=$(B)/examples/probes/probe_%)

# HIP where its compiler is; the source is shipped in any case.
HIPCC ?= hipcc
ifneq ($(call have,$(HIPCC)),)
$(B)/examples/probes/probe_hip: examples/probes/probe_hip.cc examples/probes/probe.h \
		examples/probes/probe_options.h include/roimeter.h $(B)/flags
	@mkdir -p $(@D)
	$(HIPCC) -std=c++17 -O2 -Iinclude -o $@ $<
ALL += $(B)/examples/probes/probe_hip
endif
