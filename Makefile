# Roimeter. One file, read from first line to last.
#
#   make                     everything that can be built here
#   make check               all tests            make check SAN=address,undefined  (or SAN=thread)
#   make demo                measure the demo suite and write the report
#   make lint                layers, cppcheck     make bench    make fuzz    make soak    make format
#   make install PREFIX=/usr/local DESTDIR=       make uninstall, with the same two
#
# Local settings go to config.mk, which is not committed.

-include config.mk

CC ?= gcc
CXX ?= g++
FC ?= gfortran
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin FC),default)
FC := gfortran
endif
PYTHON ?= /usr/bin/python3
MPICC ?= mpicc
MPIFC ?= mpifort
NPM ?= npm
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
DESTDIR ?=
O ?= build

comma := ,
B := $(O)/$(if $(SAN),$(subst $(comma),-,$(SAN)),$(if $(DEBUG),debug,release))

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wno-format-nonliteral -Wundef -Wpointer-arith -Wwrite-strings
OPT := $(if $(DEBUG),-O0,-O2) -g
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
override CPPFLAGS += -I. -D_FORTIFY_SOURCE=$(if $(SAN)$(DEBUG),0,2)
override CFLAGS += -std=c11 $(OPT) $(WARN) -fPIC -fvisibility=hidden $(SANFLAGS)
override LDFLAGS += $(SANFLAGS)

# ---- libraries ---------------------------------------------------------------------------------

PACKAGES := sqlite3 jansson libzstd libxxhash zlib inih yaml-0.1 libpcre2-8 hwloc
# Not for the command and the collectors, which may be made by their names (tests/device/run).
ALSO_NEEDED := $(if $(filter-out $(B)/%,$(or $(MAKECMDGOALS),all)),libmicrohttpd cmocka)
MISSING := $(foreach p,$(PACKAGES) $(ALSO_NEEDED),$(if $(shell $(PKG_CONFIG) --exists $(p) && echo y),,$(p)))
ifneq ($(strip $(MISSING)),)
$(error missing libraries: $(MISSING). On Debian: see tools/packages, or run ./check, which installs them)
endif
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) $(filter cmocka,$(ALSO_NEEDED)))
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES))
override CPPFLAGS += $(PKG_CFLAGS)
# Debian's libbz2 has no pkg-config file.
LIBS := $(PKG_LIBS) -Wl,--push-state,--as-needed -lbz2 -Wl,--pop-state -lm -lpthread -ldl

.DEFAULT_GOAL := all
.PHONY: all check demo bench lint fuzz soak format install uninstall clean golden FORCE

# ---- parts: one list of sources each, made of the folders ----------------------------------------

PARTS := lib schema core store suite timer node run report import
PART_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard $(addsuffix /*.c,$(PARTS))))
CLI_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard cli/*.c))
ALL :=

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Rewritten only when it differs: a changed flag makes every object anew.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS)' > $@

$(B)/parts.a: $(PART_OBJS)
	@rm -f $@
	ar rcs $@ $^

$(B)/roimeter: $(CLI_OBJS) $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
ALL += $(B)/roimeter

# Each part that needs more than a list of sources says so in a file of its own.
-include marker/part.mk
-include report/part.mk
-include examples/part.mk
-include store/part.mk
-include daemon/part.mk
-include agent/part.mk
-include collectors/part.mk
-include tests/double/part.mk
-include tests/collect/part.mk

# ---- tests -----------------------------------------------------------------------------------------

# A unit test is a program of its own; "/* wrap: malloc calloc */" in it asks the linker for --wrap.
# What a missing library left out is in LEFT_OUT.
UNIT := $(patsubst %,$(B)/tests/unit/%,$(filter-out $(LEFT_OUT),$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c))))
wraps = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n 's|^/\* wrap: \(.*\) \*/$$|\1|p' $(1)))

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $< $(call wraps,tests/unit/$*.c) $(B)/parts.a $(LIBS) -lcmocka
.SECONDARY: $(UNIT:%=%.o)

# A fuzz entry replays its corpus in make check; make fuzz builds it with libFuzzer.
FUZZ := $(filter-out replay $(LEFT_OUT),$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
FUZZ_REPLAY := $(FUZZ:%=$(B)/tests/fuzz/%)

$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/tests/fuzz/replay.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
.SECONDARY: $(FUZZ_REPLAY:%=%.o) $(B)/tests/fuzz/replay.o

BENCH := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))
$(B)/bench/%: $(B)/bench/%.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

all: $(ALL)

# Of the programs of tests only those that TESTS and ONLY ask for; a script has use for one, too.
named = $(if $(ONLY),$(foreach p,$2,$(if $(strip $(foreach w,$(ONLY),$(findstring $w,$1/$(notdir $p)))),$p)),$2)
asked = $(filter $1,$(or $(TESTS),unit fuzz system))
CHECKED = $(if $(call asked,unit),$(call named,unit,$(UNIT))) $(if $(call asked,fuzz),$(call named,fuzz,$(FUZZ_REPLAY))) \
	$(if $(call asked,system),$(B)/tests/unit/timer)

check: all $(CHECKED) $(CHECK_NEEDS)
	B=$(B) SAN='$(SAN)' CC='$(CC)' CXX='$(CXX)' FC='$(FC)' PYTHON='$(PYTHON)' \
		TESTS='$(TESTS)' ONLY='$(ONLY)' tests/run-all

demo: all $(DEMO_NEEDS)
	B=$(B) examples/run-demo

bench: all $(BENCH) $(BENCH_NEEDS)
	B=$(B) bench/run-all

lint:
	tests/lint

fuzz:
	tests/fuzz/run-fuzz

# Longer than make check: ROUNDS=N SEED=N choose.
soak: all $(CHECK_NEEDS)
	B=$(B) SAN='$(SAN)' PYTHON='$(PYTHON)' ROUNDS=$(or $(ROUNDS),2000) SEED=$(or $(SEED),$(shell date +%s)) tests/system/lossless

format:
	clang-format -i $$(git ls-files '*.c' '*.h' | grep -v -e '^include/')

golden: all $(UNIT)
	B=$(B) GOLDEN=write tests/run-all

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/roimeter/timers
	install -m 755 $(B)/roimeter $(B)/roimeterd $(DESTDIR)$(PREFIX)/bin/
	install -m 644 suites/timers/*.yaml $(DESTDIR)$(PREFIX)/share/roimeter/timers/
	install -d $(DESTDIR)$(PREFIX)/share/roimeter/schema $(DESTDIR)$(PREFIX)/share/doc/roimeter/docs
	install -m 644 schema/*.schema.json $(DESTDIR)$(PREFIX)/share/roimeter/schema/
	install -m 644 README.md LICENSE DEPENDENCIES.md etc/roimeter.ini $(DESTDIR)$(PREFIX)/share/doc/roimeter/
	install -m 644 docs/* $(DESTDIR)$(PREFIX)/share/doc/roimeter/docs/
	$(INSTALL_MORE)
	$(INSTALL_DAEMON)
	$(INSTALL_AGENT)

# What install puts there, and no folder that others may use.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/roimeter $(DESTDIR)$(PREFIX)/bin/roimeterd $(DESTDIR)$(PREFIX)/include/roimeter.h \
		$(DESTDIR)$(PREFIX)/include/hpcperf_roi.h $(DESTDIR)$(PREFIX)/include/roimeter.mod \
		$(DESTDIR)$(PREFIX)/lib/libroimeter.so $(DESTDIR)$(PREFIX)/lib/libroimeter.so.1 \
		$(DESTDIR)$(PREFIX)/lib/libroimeter.a $(DESTDIR)$(PREFIX)/lib/libroimeter_f.a \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig/roimeter.pc \
		$(DESTDIR)$(PREFIX)/bin/roimeter-agent \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/roimeterd.service \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/roimeter-agent.service \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/roimeter-agent.socket \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/roimeter-agent.conf \
		$(DESTDIR)$(PREFIX)/lib/python3/dist-packages/roimeter.abi3.so
	rm -rf $(DESTDIR)$(PREFIX)/share/roimeter $(DESTDIR)$(PREFIX)/share/doc/roimeter $(DESTDIR)$(PREFIX)/libexec/roimeter \
		$(DESTDIR)$(PREFIX)/lib/roimeter

clean:
	rm -rf $(O)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
