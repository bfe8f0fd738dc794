# The OpenCL collector, a layer of the OpenCL loader. To build it takes the headers of Khronos only.
OPENCL_HEADERS := $(shell $(CC) $(CPPFLAGS) -include CL/cl_layer.h -E -x c /dev/null >/dev/null 2>&1 && echo y)
OPENCL_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard collectors/opencl*.c))

$(B)/tests/unit/opencl_clock: $(B)/tests/unit/opencl_clock.o $(B)/collectors/opencl_clock.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

ifneq ($(OPENCL_HEADERS),)
$(eval $(call collector_library,opencl))

# The layer alone, between a driver and an engine of the test's own.
$(B)/tests/unit/opencl: $(B)/tests/unit/opencl.o $(OPENCL_OBJS) $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka
else
$(info libroimeter-opencl.so is left out: no <CL/cl_layer.h>. On Debian: apt install opencl-headers)
LEFT_OUT += opencl
endif
