# The CUPTI collector. It is built without NVIDIA's headers: it reads what CUPTI's versions have in
# common, and libcupti is looked up when a program runs. Where the headers of CUDA 13 are, collectors/
# cupti_layout.c holds what it takes for granted against them.
CUPTI_ROOTS := $(CUDA_HOME) $(CUDA_PATH) /usr/local/cuda \
	$(lastword $(sort $(wildcard /usr/local/cuda-*))) /opt/cuda /usr /usr/lib/cuda
CUPTI_H := $(firstword $(wildcard $(foreach r,$(CUPTI_ROOTS),$r/extras/CUPTI/include/cupti.h $r/include/cupti.h)))
CUPTI_FLAGS := $(if $(CUPTI_H),$(addprefix -isystem ,$(sort $(dir $(CUPTI_H)) \
	$(wildcard $(patsubst %/extras/CUPTI/include/,%/include/,$(dir $(CUPTI_H)))))))
CUPTI_KNOWN := $(if $(CUPTI_H),$(shell echo 'CUpti_ActivityKernel10 k; CUpti_ActivityMemcpy6 c;' | \
	$(CC) $(CUPTI_FLAGS) -include cupti.h -fsyntax-only -x c - 2>/dev/null && echo y))
ifneq ($(CUPTI_KNOWN),)
$(B)/collectors/cupti_layout.o $(B)/guest/collectors/cupti_layout.o: CPPFLAGS += -DHAVE_CUPTI_H $(CUPTI_FLAGS)
else
$(if $(filter check,$(MAKECMDGOALS)),$(info left out: the layouts of CUPTI are not checked, no <cupti.h> of \
	CUDA 13; set CUDA_HOME to where the toolkit is))
endif

$(eval $(call collector_library,cupti))

# The collector alone, with an engine that writes down what it is told, for tests/system/cupti. Never a
# sanitizer in it: it is loaded by programs that have none.
$(B)/tests/tools/libcupti-alone.so: $(wildcard collectors/cupti*.c) tests/tools/engine.c core/category.c \
		collectors/live_wanted.c \
		$(wildcard collectors/*.h core/flow.h core/category.h) $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(filter-out $(SANFLAGS),$(CPPFLAGS) $(CFLAGS)) -shared -Wl,-z,defs -o $@ $(filter %.c,$^) -lpthread -ldl -lm
CHECK_NEEDS += $(B)/tests/tools/libcupti-alone.so

# How records are read, between a made-up libcupti and that engine.
CUPTI_READING := $(addprefix $(B)/collectors/,cupti_record.o cupti_call.o cupti_name.o cupti_device.o)
$(B)/tests/unit/cupti_read: $(B)/tests/unit/cupti_read.o $(CUPTI_READING) $(B)/core/category.o
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka -lm -lpthread -ldl
$(B)/bench/cupti: $(B)/bench/cupti.o $(CUPTI_READING) $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# What a collector left, as text.
$(B)/tests/tools/picture: $(B)/tests/tools/picture.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
CHECK_NEEDS += $(B)/tests/tools/picture

# A program of several ways, which with SAN=thread is watched, as is everything that it loads: the doubles, the
# collector, and the marks are made once more for that.
CUPTI_WATCHED := $(if $(filter thread,$(SAN)),-fsanitize=thread)
$(B)/tests/tools/cuda_work: tests/tools/cuda_work.c include/roimeter.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) -std=c11 -O1 -g -Wall -Wextra -I. $(CUPTI_WATCHED) -o $@ $< -ldl -lpthread
CHECK_NEEDS += $(B)/tests/tools/cuda_work

$(B)/tests/watched/libroimeter-cupti.so: $(patsubst %.c,$(B)/%.o,$(wildcard collectors/cupti*.c collectors/live*.c)) $(B)/parts.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-z,nodelete -Wl,--exclude-libs,ALL -o $@ $^ $(LIBS)
$(B)/tests/watched/libroimeter.so: $(patsubst %.c,$(B)/%.o,$(MARKER_SOURCES))
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-z,nodelete -o $@ $^ -lpthread -ldl
ifneq ($(CUPTI_WATCHED),)
CHECK_NEEDS += $(addprefix $(B)/tests/watched/,libroimeter-cupti.so libroimeter.so)
endif
