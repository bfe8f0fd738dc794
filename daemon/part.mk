# roimeterd. Everything but main.o is in daemon.a, for the tests.
DAEMON_LIBS := $(shell $(PKG_CONFIG) --libs libmicrohttpd zlib)
DAEMON_OBJS := $(patsubst %.c,$(B)/%.o,$(filter-out daemon/main.c,$(wildcard daemon/*.c))) $(B)/daemon/assets_data.o

$(B)/daemon/assets.o: CPPFLAGS += -I$(WEB)
$(B)/daemon/assets.o: $(WEB)/page_names.h
ifneq ($(HAVE_NODE),)
$(B)/daemon/assets.o: $(WEB)/page.0
$(WEB)/page_names.h: $(WEB)/page.0 ;
$(B)/daemon/assets_data.o: daemon/assets.S $(WEB)/page.0
	@mkdir -p $(@D)
	$(CC) -DHAVE_PAGE -Wa,-I$(WEB) -c -o $@ $<
else
$(WEB)/page_names.h: daemon/part.mk
	@mkdir -p $(@D)
	printf '#define PAGE_SCRIPT "app.js"\n#define PAGE_STYLE "app.css"\n' > $@
$(B)/daemon/assets_data.o: daemon/assets.S
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<
endif

$(B)/daemon.a: $(DAEMON_OBJS)
	@rm -f $@
	ar rcs $@ $^

$(B)/roimeterd: $(B)/daemon/main.o $(B)/daemon.a $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(DAEMON_LIBS)
ALL += $(B)/roimeterd

$(B)/tests/unit/daemon_%: $(B)/tests/unit/daemon_%.o $(B)/daemon.a $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(call wraps,tests/unit/daemon_$*.c) $(LIBS) $(DAEMON_LIBS) -lcmocka
$(B)/tests/fuzz/daemon_%: $(B)/tests/fuzz/daemon_%.o $(B)/tests/fuzz/replay.o $(B)/daemon.a $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(DAEMON_LIBS)

$(B)/bench/daemon_%: $(B)/bench/daemon_%.o $(B)/daemon.a $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(DAEMON_LIBS)

# The unit names the program where it is installed.
define INSTALL_DAEMON
install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
sed 's|/usr/local|$(PREFIX)|g' etc/roimeterd.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/roimeterd.service
chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/roimeterd.service
install -m 644 etc/roimeterd.ini $(DESTDIR)$(PREFIX)/share/doc/roimeter/
endef

# Agents that post, for the system tests.
$(B)/tests/agents/post: $(B)/tests/agents/post.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
CHECK_NEEDS += $(B)/tests/agents/post
