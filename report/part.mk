# The page: packages by the lock file, bundled by esbuild, put into the program as bytes. All of it
# in the build folder; the sources stay clean.
# NODE=no builds without the page: `roimeter report` then writes the other files.
NODE ?= $(shell command -v node)
WEB := $(B)/web
WEB_SOURCES := $(wildcard web/src/*) web/build.mjs
HAVE_NODE := $(and $(filter-out no,$(NODE)),$(shell command -v $(NPM)))
NPM_CI := $(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel=error
NPM_FAILED := { echo "the page's packages could not be fetched; make NODE=no builds without the page" >&2; exit 1; }

$(B)/parts.a: $(B)/report/page_data.o

ifneq ($(HAVE_NODE),)
$(WEB)/packages: web/package.json web/package-lock.json web/.npmrc
	@mkdir -p $(WEB)
	cp $^ $(WEB)/
	cd $(WEB) && $(NPM_CI) --omit=dev || $(NPM_FAILED)
	@touch $@

$(WEB)/page.0: $(WEB)/packages $(WEB_SOURCES)
	@rm -rf $(WEB)/src && mkdir -p $(WEB)/src
	cp web/src/* $(WEB)/src/
	cp web/build.mjs $(WEB)/
	$(NODE) $(WEB)/build.mjs $(abspath $(WEB))

$(B)/report/page_data.o: report/page_data.S $(WEB)/page.0
	@mkdir -p $(@D)
	$(CC) -DHAVE_PAGE -Wa,-I$(WEB) -c -o $@ $<

# What only the tests need: the type checker and the accessibility checker.
$(B)/web-check/packages: web/package.json web/package-lock.json web/.npmrc
	@mkdir -p $(@D)
	cp $^ $(@D)/
	cd $(@D) && $(NPM_CI) || $(NPM_FAILED)
	@touch $@
CHECK_NEEDS += $(B)/web-check/packages
else
$(info no Node.js or npm: the report is built without its HTML page)
$(B)/report/page_data.o: report/page_data.S
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<
endif

$(B)/tests/web/load: $(B)/tests/web/load.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
CHECK_NEEDS += $(B)/tests/web/load
