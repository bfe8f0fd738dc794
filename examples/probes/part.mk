# Probes for the test of collectors: the same exactly known work with each runtime. Built as a user
# would: libc and the header of the marks. Libraries of a runtime are looked up when they run, but for
# the loader of OpenCL, which programs are linked with.
PROBES := host cuda io
PROBE_HEADERS := $(wildcard examples/probes/*.h) include/roimeter.h

ifneq ($(shell $(PKG_CONFIG) --exists OpenCL && echo y),)
PROBES += opencl
PROBE_LIBS_probe_opencl := $(shell $(PKG_CONFIG) --libs OpenCL)
else
$(call example_left_out,probe_opencl of examples/probes/: no OpenCL loader; on Debian: apt install ocl-icd-opencl-dev)
endif

$(B)/examples/probes/%: examples/probes/%.c $(PROBE_HEADERS) $(B)/flags
	@mkdir -p $(@D)
	$(CC) -std=c11 $(EXAMPLE_FLAGS) -o $@ $< $(PROBE_LIBS_$*) -ldl -lpthread

ALL += $(PROBES:%=$(B)/examples/probes/probe_%)

# HIP where its compiler is; the source is shipped in any case.
HIPCC ?= hipcc
ifneq ($(call have,$(HIPCC)),)
$(B)/examples/probes/probe_hip: examples/probes/probe_hip.cc $(PROBE_HEADERS) $(B)/flags
	@mkdir -p $(@D)
	$(HIPCC) -std=c++17 -O2 -Iinclude -o $@ $<
ALL += $(B)/examples/probes/probe_hip
endif

# roimeter conformance finds them there.
define PROBES_INSTALL
install -d $(DESTDIR)$(PREFIX)/libexec/roimeter
install -m 755 $(PROBES:%=$(B)/examples/probes/probe_%) $(DESTDIR)$(PREFIX)/libexec/roimeter/

endef
INSTALL_MORE += $(PROBES_INSTALL)
