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

# With an engine that writes down what it is told, for tests/system/opencl. Never a sanitizer in it: it is
# loaded by programs that have none.
$(B)/tests/tools/libopencl-alone.so: $(wildcard collectors/opencl*.c) tests/tools/engine.c core/category.c \
		$(wildcard collectors/*.h core/flow.h core/category.h) $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out $(SANFLAGS),$(CPPFLAGS) $(CFLAGS)) -shared -Wl,-z,nodelete -o $@ $(filter %.c,$^) \
		-lpthread -ldl -lm
CHECK_NEEDS += $(B)/tests/tools/libopencl-alone.so

# Programs of users, so without a sanitizer, too.
ifneq ($(shell $(PKG_CONFIG) --exists OpenCL && echo y),)
$(B)/tests/tools/opencl_work $(B)/tests/tools/opencl_closed $(B)/tests/tools/opencl_ranges: $(B)/tests/tools/%: \
		tests/tools/%.c include/roimeter.h tests/fixtures/run/nvtx_client.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -Iinclude $(OPT) -Wall -Wextra -o $@ $< $(shell $(PKG_CONFIG) --libs OpenCL) -lpthread -ldl
CHECK_NEEDS += $(B)/tests/tools/opencl_work $(B)/tests/tools/opencl_closed $(B)/tests/tools/opencl_ranges
endif
else
$(info libroimeter-opencl.so is left out: no <CL/cl_layer.h>. On Debian: apt install opencl-headers)
LEFT_OUT += opencl
endif
