# The marker library: libc only. Also the Fortran and Python modules.

MARKER_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard marker/*.c))
MARKER_CFLAGS := -ftls-model=initial-exec

$(B)/libroimeter.so: $(MARKER_OBJS)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libroimeter.so.1 -Wl,-z,nodelete -o $@ $^ -lpthread -ldl
	@ln -sf libroimeter.so $(B)/libroimeter.so.1

# One object, and not an archive but in name: the header's reference is weak, so a linker would
# take nothing out of an archive. In it only what is exported is visible to others.
$(B)/libroimeter.a: $(MARKER_OBJS)
	ld -r -o $@ $^
	objcopy --localize-hidden $@

ALL += $(B)/libroimeter.so $(B)/libroimeter.a

$(B)/marker/%.o: CFLAGS += $(MARKER_CFLAGS)
