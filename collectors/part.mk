# Libraries that a measured process loads to be watched (libroimeter-NAME.so). NAME has a file of its
# own, collectors/part_NAME.mk, which calls collector_library for collectors/NAME*.c.
#
# They are guests in other programs, so they never carry a sanitizer, need nothing but libc, and show
# nothing but what their host asks for. What they share with the rest of roimeter is built once more for
# them, a function a section, so that of it comes along only what is called.
GUEST_SOURCES := $(filter-out core/assemble% core/carry.c core/finish.c schema/batch% \
	schema/codec_json.c schema/codec_csv.c schema/codec_schema.c schema/codec_check.c schema/hpcperflog.c \
	schema/roilog.c, $(wildcard lib/*.c schema/*.c core/*.c)) $(wildcard collectors/live*.c)

$(B)/guest/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) -ffunction-sections -fdata-sections -MMD -MP -c -o $@ $<

$(B)/guest.a: $(GUEST_SOURCES:%.c=$(B)/guest/%.o)
	@rm -f $@
	ar rcs $@ $^

COLLECTOR_LINK = $(CC) $(filter-out $(SANFLAGS),$(LDFLAGS)) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete \
	-Wl,-z,now -Wl,-z,defs -Wl,--gc-sections -Wl,--exclude-libs,ALL

# $(1): the name. In a part of its own: $(eval $(call collector_library,cupti)).
COLLECTOR_LIBRARIES :=
define collector_library
$$(B)/libroimeter-$(1).so: $$(patsubst %.c,$$(B)/guest/%.o,$$(wildcard collectors/$(1).c collectors/$(1)_*.c)) $$(B)/guest.a
	$$(COLLECTOR_LINK) -o $$@ $$^ -lpthread -ldl -lm
ALL += $$(B)/libroimeter-$(1).so
COLLECTOR_LIBRARIES += $$(B)/libroimeter-$(1).so
endef

# What they share, with the sanitizer of the tests.
LIVE_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard collectors/live*.c))
.SECONDARY: $(LIVE_OBJS)

# With the markers in the program itself, where it looks for them first.
$(B)/tests/unit/live $(B)/tests/unit/live_ends: %: %.o $(LIVE_OBJS) $(B)/libroimeter.a $(B)/parts.a
	$(CC) $(LDFLAGS) -rdynamic -o $@ $^ $(LIBS) -lcmocka -lpthread -ldl

$(B)/tests/tools/clip_cases: $(B)/tests/tools/clip_cases.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
CHECK_NEEDS += $(B)/tests/tools/clip_cases

# No collector: what is preloaded beside one, so that _exit and exec lose nothing.
$(B)/libroimeter-exit.so: $(patsubst %.c,$(B)/guest/%.o,$(wildcard collectors/exit*.c))
	$(COLLECTOR_LINK) -o $@ $^ -ldl
ALL += $(B)/libroimeter-exit.so
COLLECTOR_LIBRARIES += $(B)/libroimeter-exit.so

# Nor is this: ranges of a program as its region, in clean executions, too. What it gives to a program is its
# own functions, though another library may have some of the same name.
$(B)/libroimeter-range.so: $(patsubst %.c,$(B)/guest/%.o,$(wildcard collectors/range*.c))
	$(COLLECTOR_LINK) -Wl,-Bsymbolic -o $@ $^ -lpthread -ldl
ALL += $(B)/libroimeter-range.so
COLLECTOR_LIBRARIES += $(B)/libroimeter-range.so

# The test has a library of marks of its own.
$(B)/tests/unit/range: $(B)/tests/unit/range.o $(patsubst %.c,$(B)/%.o,$(wildcard collectors/range*.c)) $(B)/parts.a
	$(CC) $(LDFLAGS) -rdynamic -o $@ $^ $(LIBS) -lcmocka

-include $(wildcard collectors/part_*.mk)

define COLLECTOR_INSTALL
install -d $(DESTDIR)$(PREFIX)/lib/roimeter
install -m 755 $(COLLECTOR_LIBRARIES) $(DESTDIR)$(PREFIX)/lib/roimeter/

endef
INSTALL_MORE += $(COLLECTOR_INSTALL)
