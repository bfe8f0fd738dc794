# The marker library, a guest in other programs: it needs libc only, nothing else of ours. And the
# marks for Fortran and Python.

MARKER_SOURCES := $(wildcard marker/*.c)
MARKER_TLS := -ftls-model=initial-exec

# The shared library is for any program, so it never carries a sanitizer, which would have to be
# loaded before the program itself. The static one does: the tests link it.
MARKER_PLAIN := $(if $(SAN),$(B)/plain,$(B))
$(B)/plain/marker/%.o: marker/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(filter-out $(SANFLAGS),$(CFLAGS)) $(MARKER_TLS) -MMD -MP -c -o $@ $<
$(B)/marker/%.o: CFLAGS += $(MARKER_TLS)

$(B)/libroimeter.so: $(MARKER_SOURCES:%.c=$(MARKER_PLAIN)/%.o)
	$(CC) $(filter-out $(SANFLAGS),$(LDFLAGS)) -shared -Wl,-soname,libroimeter.so.1 \
		-Wl,-z,nodelete -Wl,-z,now -o $@ $^ -lpthread -ldl
	@ln -sf libroimeter.so $(B)/libroimeter.so.1

# One object, an archive only by its name: the header's reference is weak, and for a weak one
# a linker takes nothing out of an archive. Others see in it only what is exported.
$(B)/libroimeter.a: $(MARKER_SOURCES:%.c=$(B)/%.o)
	ld -r -o $@ $^
	objcopy --localize-hidden $@

ALL += $(B)/libroimeter.so $(B)/libroimeter.a

MARKER_NVTX := $(shell $(CC) $(CPPFLAGS) -include nvtx3/nvToolsExt.h -E -x c /dev/null >/dev/null 2>&1 && echo y)
ifneq ($(MARKER_NVTX),)
$(B)/marker/nvtx.o $(B)/plain/marker/nvtx.o: CPPFLAGS += -DHAVE_NVTX
else
$(if $(filter check install,$(MAKECMDGOALS)),$(info left out: NVTX ranges, no <nvtx3/nvToolsExt.h>; it comes with the CUDA toolkit))
endif

# Where the two below look for the library when ROIMETER_LIBRARY does not say it.
MARKER_AT = -DROIMETER_INSTALLED_='"$(PREFIX)/lib/libroimeter.so.1"'

# "make" and then "make install PREFIX=/elsewhere": these two are made anew.
$(B)/prefix: FORCE
	@mkdir -p $(@D)
	@echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' > $@

MARKER_VERSION = $(shell sed -n 's/.*ROIMETER_VERSION_TEXT "\(.*\)"/\1/p' lib/version.h)

define MARKER_INSTALL
install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/share/roimeter/fortran
sed 's|"libroimeter.so.1"|"$(PREFIX)/lib/libroimeter.so.1"|' include/roimeter.h > $(DESTDIR)$(PREFIX)/include/roimeter.h
install -m 644 include/hpcperf_roi.h $(DESTDIR)$(PREFIX)/include/
install -m 755 $(B)/libroimeter.so $(DESTDIR)$(PREFIX)/lib/libroimeter.so.1
ln -sf libroimeter.so.1 $(DESTDIR)$(PREFIX)/lib/libroimeter.so
install -m 644 $(B)/libroimeter.a $(DESTDIR)$(PREFIX)/lib/
install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(MARKER_VERSION)|' marker/roimeter.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/roimeter.pc
install -m 644 marker/fortran/roimeter.f90 marker/fortran/roimeter_f.c $(DESTDIR)$(PREFIX)/share/roimeter/fortran/

endef

# ---- Fortran: a module and an archive; other compilers take the two sources -------------------------

ifneq ($(shell command -v $(firstword $(FC)) 2>/dev/null),)
$(B)/fortran/roimeter_f.o: marker/fortran/roimeter_f.c include/roimeter.h $(B)/flags $(B)/prefix
	@mkdir -p $(@D)
	$(CC) -Iinclude $(MARKER_AT) $(OPT) $(WARN) -fPIC -c -o $@ $<
$(B)/fortran/roimeter.o: marker/fortran/roimeter.f90 $(B)/flags
	@mkdir -p $(@D)
	$(FC) -std=f2008 $(OPT) -Wall -fPIC -J$(@D) -c -o $@ $<
$(B)/libroimeter_f.a: $(B)/fortran/roimeter.o $(B)/fortran/roimeter_f.o
	@rm -f $@
	ar rcs $@ $^
ALL += $(B)/libroimeter_f.a
define MARKER_INSTALL_FORTRAN
install -m 644 $(B)/libroimeter_f.a $(DESTDIR)$(PREFIX)/lib/
install -m 644 $(B)/fortran/roimeter.mod $(DESTDIR)$(PREFIX)/include/

endef
else
$(if $(filter check install,$(MAKECMDGOALS)),$(info left out: the Fortran module, no $(FC); on Debian: apt install gfortran))
endif

# ---- Python: an extension on the stable ABI ----------------------------------------------------------

MARKER_PYTHON := $(shell $(PYTHON) -c 'import os, sys, sysconfig; \
	d = sysconfig.get_paths()["include"]; \
	print(d if sys.version_info >= (3, 11) and os.path.exists(d + "/Python.h") else "")' 2>/dev/null)
ifneq ($(MARKER_PYTHON),)
$(B)/python/roimeter.abi3.so: marker/python/roimeter.c include/roimeter.h $(B)/flags $(B)/prefix
	@mkdir -p $(@D)
	$(CC) -Iinclude $(MARKER_AT) -isystem $(MARKER_PYTHON) -std=c11 $(OPT) $(WARN) -Wno-undef -fPIC \
		-fvisibility=hidden -shared -o $@ $<
ALL += $(B)/python/roimeter.abi3.so
define MARKER_INSTALL_PYTHON
install -d $(DESTDIR)$(PREFIX)/lib/python3/dist-packages
install -m 755 $(B)/python/roimeter.abi3.so $(DESTDIR)$(PREFIX)/lib/python3/dist-packages/

endef
else
$(if $(filter check bench install,$(MAKECMDGOALS)),$(info left out: the Python module, no Python.h of 3.11 or later for $(PYTHON); on Debian: apt install python3-dev))
endif

INSTALL_MORE += $(MARKER_INSTALL)$(MARKER_INSTALL_FORTRAN)$(MARKER_INSTALL_PYTHON)

# ---- tests: the library in the test itself, so that a sanitizer sees it ------------------------------

$(B)/tests/unit/marker $(B)/tests/unit/marker_agent: %: %.o $(B)/libroimeter.a $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(call wraps,$(@:$(B)/%=%).c) \
		$(B)/libroimeter.a $(B)/parts.a $(LIBS) -lcmocka

# This one looks into it.
$(B)/tests/unit/marker_watch: %: %.o $(MARKER_SOURCES:%.c=$(B)/%.o) $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(B)/parts.a $(LIBS) -lcmocka
