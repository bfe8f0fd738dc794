# roimeter-agent. Everything but main.o is in agent.a, for the tests. Only this part needs libuv and
# libcurl; where they are missing it is left out, with its tests.
AGENT_PACKAGES := libuv libcurl
AGENT_MISSING := $(foreach p,$(AGENT_PACKAGES),$(if $(shell $(PKG_CONFIG) --exists $(p) && echo y),,$(p)))

ifneq ($(strip $(AGENT_MISSING)),)
$(info roimeter-agent is left out: missing libraries: $(AGENT_MISSING). On Debian: see tools/packages)
LEFT_OUT += agent_%
else
AGENT_LIBS := $(shell $(PKG_CONFIG) --libs $(AGENT_PACKAGES))
AGENT_OBJS := $(patsubst %.c,$(B)/%.o,$(filter-out agent/main.c,$(wildcard agent/*.c)))

$(B)/agent/%.o: override CPPFLAGS += $(shell $(PKG_CONFIG) --cflags $(AGENT_PACKAGES))

$(B)/agent.a: $(AGENT_OBJS)
	@rm -f $@
	ar rcs $@ $^

$(B)/roimeter-agent: $(B)/agent/main.o $(B)/agent.a $(B)/parts.a
	$(CC) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(LIBS) $(AGENT_LIBS)
ALL += $(B)/roimeter-agent

# The units name the program where it is installed.
define INSTALL_AGENT
install -m 755 $(B)/roimeter-agent $(DESTDIR)$(PREFIX)/bin/
install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/lib/sysusers.d
sed 's|/usr/local|$(PREFIX)|g' etc/roimeter-agent.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/roimeter-agent.service
sed 's|/usr/local|$(PREFIX)|g' etc/roimeter-agent.socket > $(DESTDIR)$(PREFIX)/lib/systemd/system/roimeter-agent.socket
chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/roimeter-agent.service $(DESTDIR)$(PREFIX)/lib/systemd/system/roimeter-agent.socket
install -m 644 etc/roimeter-agent.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/roimeter-agent.conf
install -m 644 etc/roimeter-agent.ini etc/roimeter.env etc/roimeter-agent.sh $(DESTDIR)$(PREFIX)/share/doc/roimeter/
endef

$(B)/tests/unit/agent_%: $(B)/tests/unit/agent_%.o $(B)/agent.a $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $< $(call wraps,tests/unit/agent_$*.c) $(B)/agent.a $(B)/parts.a $(LIBS) \
		$(AGENT_LIBS) -lcmocka
$(B)/tests/tools/spool_frames: $(B)/tests/tools/spool_frames.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
CHECK_NEEDS += $(B)/tests/tools/spool_frames

$(B)/bench/agent_%: $(B)/bench/agent_%.o $(B)/agent.a $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(AGENT_LIBS)
$(B)/tests/fuzz/agent_%: $(B)/tests/fuzz/agent_%.o $(B)/tests/fuzz/replay.o $(B)/agent.a $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(AGENT_LIBS)

# A marked program that counts for itself, built as a user would.
$(B)/tests/lossless/marks: tests/lossless/marks.c include/roimeter.h $(B)/flags
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -Iinclude $(OPT) -Wall -Wextra -o $@ $<
CHECK_NEEDS += $(B)/tests/lossless/marks
endif
