# Doubles of libcuda and libcupti for the tests of collectors, made against NVIDIA's own headers. Never
# installed. CUDA_HOME says where the headers are; else the usual places are looked at.
CUDA_INCLUDE := $(firstword $(wildcard $(addsuffix /include/cupti.h,$(CUDA_HOME) /usr/local/cuda) \
	$(addsuffix /extras/CUPTI/include/cupti.h,$(CUDA_HOME) /usr/local/cuda) \
	/usr/include/cupti.h /usr/lib/cuda/include/cupti.h))
DOUBLE_FLAGS := $(if $(CUDA_INCLUDE),$(addprefix -isystem ,$(sort $(dir $(CUDA_INCLUDE)) \
	$(wildcard $(patsubst %/extras/CUPTI/include/,%/include/,$(dir $(CUDA_INCLUDE)))))))
DOUBLE_OK := $(if $(CUDA_INCLUDE),$(shell echo 'CUpti_ActivityKernel10 t;' | $(CC) $(DOUBLE_FLAGS) \
	-include cupti.h -fsyntax-only -x c - 2>/dev/null && echo y))

ifeq ($(DOUBLE_OK),)
$(if $(filter check,$(MAKECMDGOALS)),$(info left out: the doubles of libcuda and libcupti, no <cupti.h> \
	of CUDA 13; set CUDA_HOME to where the toolkit is))
else
# A sanitizer would have to be in the program that loads them, which need not be ours.
$(B)/tests/double/%.o: tests/double/%.c tests/double/double.h tests/double/cuda.h \
		tests/double/fake_cupti.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out $(SANFLAGS),$(CPPFLAGS) $(CFLAGS)) $(DOUBLE_FLAGS) -c -o $@ $<

$(B)/tests/double/libdouble.so: $(addprefix $(B)/tests/double/,script.o timeline.o)
	$(CC) -shared -Wl,-soname,libdouble.so -o $@ $^ -lpthread -ldl

$(B)/tests/double/libcuda.so.1: $(addprefix $(B)/tests/double/,cuda.o cuda_stream.o cuda_memory.o \
		cuda_graph.o) $(B)/tests/double/libdouble.so
	$(CC) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lpthread -ldl

$(B)/tests/double/libcupti.so.13: $(addprefix $(B)/tests/double/,cupti.o cupti_buffer.o cupti_record.o \
		cupti_note.o cupti_nvtx.o) $(B)/tests/double/libdouble.so
	$(CC) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lpthread -ldl

$(B)/tests/double/libdouble_clock.so: $(B)/tests/double/clock.o $(B)/tests/double/libdouble.so
	$(CC) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lpthread -ldl

DOUBLES := $(addprefix $(B)/tests/double/,libcuda.so.1 libcupti.so.13 libdouble_clock.so)
CHECK_NEEDS += $(DOUBLES)

# With the sanitizer that looks for races, for programs that have it, too.
ifneq ($(filter thread,$(SAN)),)
$(B)/tests/watched/%.o: tests/double/%.c tests/double/double.h tests/double/cuda.h tests/double/fake_cupti.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(DOUBLE_FLAGS) -c -o $@ $<
$(B)/tests/watched/libdouble.so: $(addprefix $(B)/tests/watched/,script.o timeline.o)
	$(CC) $(SANFLAGS) -shared -Wl,-soname,$(@F) -o $@ $^ -lpthread -ldl
$(B)/tests/watched/libcuda.so.1: $(addprefix $(B)/tests/watched/,cuda.o cuda_stream.o cuda_memory.o cuda_graph.o libdouble.so)
	$(CC) $(SANFLAGS) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lpthread -ldl
$(B)/tests/watched/libcupti.so.13: $(addprefix $(B)/tests/watched/,cupti.o cupti_buffer.o cupti_record.o cupti_note.o \
		cupti_nvtx.o libdouble.so)
	$(CC) $(SANFLAGS) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lpthread -ldl
CHECK_NEEDS += $(addprefix $(B)/tests/watched/,libcuda.so.1 libcupti.so.13)
endif

# NVIDIA's own library, to walk the doubles' buffers.
CUDA_TOP := $(patsubst %/extras/CUPTI/include/,%/,$(patsubst %/include/,%/,$(dir $(CUDA_INCLUDE))))
REAL_CUPTI := $(firstword $(wildcard $(addsuffix /libcupti.so.13,$(CUDA_TOP)/lib64 $(CUDA_TOP)/lib \
	$(CUDA_TOP)/extras/CUPTI/lib64 /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu)))
$(B)/tests/unit/cupti_double.o: override CPPFLAGS += -DHAVE_DOUBLE -DREAL_CUPTI='"$(REAL_CUPTI)"' $(DOUBLE_FLAGS)
endif

# The double of libnvidia-ml needs no header of NVIDIA's; it has a folder of its own, since whoever has
# it in LD_LIBRARY_PATH has an NVIDIA device.
$(B)/tests/double/nvml/%.o: tests/double/nvml/%.c node/nvml_abi.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out $(SANFLAGS),$(CPPFLAGS) $(CFLAGS)) $(DOUBLE_FLAGS) -c -o $@ $<

$(B)/tests/double/nvml/libnvidia-ml.so.1: $(addprefix $(B)/tests/double/nvml/,nvml.o check.o)
	$(CC) -shared -Wl,-soname,$(@F) -o $@ $^
CHECK_NEEDS += $(B)/tests/double/nvml/libnvidia-ml.so.1
