# The face of the build; meson does the work, in build/.
#   make                            builds build/garner
#   make run [URL=https://...]      and starts it: crawls that site, or the documents of this machine
#            [PORT=18080]           a further garner, at other ports and with data of its own
#   make test | check               every check and test | the fast checks alone
#   make prove [AREA=name]          the long tests, recorded in doc/proofs.md
#   make asan                       units, scenes and kill tests with the sanitizers
#   make fuzz [TARGET=x] [SECONDS=60]
#   make bench [AREA=name] [SCALE=1]
#   make install [PREFIX=/usr/local] [DESTDIR=]
#   make clean
# On a system other than Debian, with everything in place: make BOOTSTRAP=:
BOOTSTRAP = script/bootstrap
PREFIX = /usr/local
DESTDIR =
URL =
PORT =
AREA =
SCALE = 1
TARGET =
SECONDS = 60
RELEASE = build/release
# what meson install wants to be built
INSTALLED = garner garner-parse man/man1 etc/garner etc/garner.conf

# $(call ninja,DIRECTORY): builds, and is silent when there is nothing to do
ninja = ninja -C $(1) -n | grep -q 'no work to do' || ninja -C $(1)

.PHONY: all run test check prove asan fuzz bench install clean
.SILENT:

all:
	$(BOOTSTRAP) build
	[ -e build/build.ninja ] || meson setup build
	$(call ninja,build)

run:
	$(BOOTSTRAP) build run
	$(MAKE) --no-print-directory BOOTSTRAP=: all
	PORT=$(PORT) exec script/run $(URL)

test:
	$(BOOTSTRAP) build run test
	exec tests/run

check:
	$(BOOTSTRAP) build test
	exec tests/run --only checks

prove:
	$(BOOTSTRAP) build run test
	exec tests/prove/run $(AREA)

asan:
	$(BOOTSTRAP) build run test
	exec tests/run --build asan --only units,fuzz,scenes,kill

fuzz:
	$(BOOTSTRAP) build test
	exec fuzz/run $(SECONDS) $(TARGET)

bench:
	$(BOOTSTRAP) build run bench
	SCALE=$(SCALE) exec bench/run $(AREA)

install:
	$(BOOTSTRAP) build run
	[ -e $(RELEASE)/build.ninja ] || \
		meson setup $(RELEASE) -Dbuildtype=release -Dfaults=false -Dprefix=$(PREFIX)
	meson configure $(RELEASE) -Dprefix=$(PREFIX)
	$(call ninja,$(RELEASE) $(INSTALLED))
	meson install -C $(RELEASE) --no-rebuild --quiet $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))
	for name in $$($(RELEASE)/garner help --links); do \
		ln -sf garner $(DESTDIR)$(PREFIX)/bin/$$name; \
	done

clean:
	rm -rf build tests/npm/node_modules
