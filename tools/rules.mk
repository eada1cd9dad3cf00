# Generated front end, embedded device prelude, tests. Included by the Makefile.
# SPDX-License-Identifier: MIT

$(BUILD)/lexer/scan.c $(BUILD)/lexer/scan.h &: lexer/scan.l
	@mkdir -p $(BUILD)/lexer
	$(call say,FLEX,$<)
	$(Q)flex -o $(BUILD)/lexer/scan.c --header-file=$(BUILD)/lexer/scan.h $<

$(BUILD)/parser/grammar.c $(BUILD)/parser/grammar.h &: parser/grammar.y
	@mkdir -p $(BUILD)/parser
	$(call say,BISON,$<)
	$(Q)bison -Wall -Wcounterexamples -Werror -o $(BUILD)/parser/grammar.c --header=$(BUILD)/parser/grammar.h $<

$(filter $(BUILD)/lexer/% $(BUILD)/parser/%,$(OBJ)): | $(BUILD)/lexer/scan.h $(BUILD)/parser/grammar.h

# A unit test links every room but main; its own file holds the Check suite.
$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/tests/unit/marks.o $(BUILD)/libtlc.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $< \
	  $(BUILD)/tests/unit/marks.o -Wl,--wrap=_mark_point $(BUILD)/libtlc.a $(LDFLAGS) -lcheck -lsubunit -lrt $(LDLIBS)

.PRECIOUS: $(BUILD)/tests/unit/marks.o

unit: $(UNIT)
	@set -e; for t in $(UNIT); do $$t; done

unit-build: $(UNIT)
-include $(wildcard $(BUILD)/unit/*.d)

.PHONY: unit unit-build

# ---------------------------------------------------------------------------------------- targets
# What is built for tests is built on all processors, unless make was told how many to take.
ALL_CPUS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

check:
	@tools/setup.sh
	@$(MAKE) --no-print-directory $(ALL_CPUS) check-run

check-run: all unit-build
	@unset MAKEFLAGS; BUILD=$(BUILD) tests/run.sh

demo:
	@tools/setup.sh build
	@$(MAKE) --no-print-directory -s all
	@BUILD=$(BUILD) tools/demo.sh

golden: all
	@BUILD=$(BUILD) TLC=$(BUILD)/tlc bash tests/suite_golden.sh update
	@TLC=$(BUILD)/tlc python3 tests/docs.py update

style:
	@tools/style.sh

# The same tests under AddressSanitizer and UndefinedBehaviorSanitizer, without nvcc's part.
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all
sanitize:
	@TLC_TEXTS=$(BUILD) $(MAKE) --no-print-directory $(ALL_CPUS) BUILD=$(BUILD)/san OPT="-O1 -g1 $(SAN)" \
	  LDFLAGS="$(SAN)" san-check

# The emulator's loops are most of what runs there.
$(BUILD)/emu/%.o: override OPT := $(subst -O1,-O2,$(OPT))

san-check: all $(UNIT)
	@unset MAKEFLAGS; BUILD=$(BUILD) ASAN_OPTIONS=detect_stack_use_after_return=0 TLC_SAN=1 \
	  tests/run.sh unit diag wrong golden matrix

fuzz:
	@BUILD=$(BUILD) CC="$(CC)" tests/fuzz/fuzz.sh

mutate: all
	@BUILD=$(BUILD) tests/mutate.sh

# The time of compiling 126 kernels, one process each, nvcc not counted.
zoo: all
	@for arch in sm_80 sm_90a; do \
	  ZOO_SECONDS=2 TLC=$(BUILD)/tlc WORK=$(BUILD) bash tests/suite_zoo.sh run $$arch || exit 1; done

gpu-check: all
	@BUILD=$(BUILD) tests/gpu/check.sh

bench: all
	@BUILD=$(BUILD) bench/bench.py $(BENCH) $(if $(value PATTERN),'$(value PATTERN)')

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/tlc/samples $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/doc/tlc
	install -m 644 docs/tlc.1 $(DESTDIR)$(PREFIX)/share/man/man1/tlc.1
	install -m 755 $(BUILD)/tlc $(DESTDIR)$(PREFIX)/bin/tlc
	install -m 644 samples/*.tl $(DESTDIR)$(PREFIX)/share/tlc/samples
	install -m 644 docs/*.md $(DESTDIR)$(PREFIX)/share/doc/tlc

clean:
	rm -rf $(BUILD)

help:
	@echo "make             build/tlc"
	@echo "make demo        build, compile samples/gemm.tl, run and check it, say what happened"
	@echo "make check       every test that needs no GPU"
	@echo "make gpu-check   the samples on a GPU, against the oracle, and under compute-sanitizer"
	@echo "make bench       speed beside cuBLAS and others: PATTERN=REGEX BENCH=OPTIONS, docs/performance.md"
	@echo "make sanitize    the tests under AddressSanitizer and UBSan"
	@echo "make fuzz        mutated programs through the front end, random ones through tlc (60 s each)"
	@echo "make mutate      plant faults in the compiler; the tests must catch each"
	@echo "make zoo         compile 126 kernels in less than 2 s"
	@echo "make golden      rewrite the expected outputs (review the diff)"
	@echo "make style       budgets and folder dependencies"
	@echo "make install     PREFIX=/usr/local"

.PHONY: check check-run demo golden style sanitize san-check fuzz mutate zoo gpu-check bench install clean help

# The device prelude as rows of a C table, the host prelude as strings.
CG_PRELUDE := $(sort $(wildcard codegen/prelude/*.cuh))
CG_HOST    := $(addprefix codegen/prelude/,host_types.h host.h host_ops.h host_warp.h)

$(BUILD)/codegen/prelude_data.inc: tools/prelude.awk $(CG_PRELUDE)
	@mkdir -p $(@D)
	for f in $(CG_PRELUDE); do awk -f tools/prelude.awk $$f; done > $@

$(BUILD)/codegen/prelude_host.inc: $(CG_HOST)
	@mkdir -p $(@D)
	sed -e '/^#include "host_/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n",/' $(CG_HOST) > $@

# Modules of tlc's own that are written in the language.
$(BUILD)/eval/%.inc: eval/%.tl
	@mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $< > $@

$(BUILD)/eval/carver.o: $(BUILD)/eval/carver.inc

$(BUILD)/codegen/prelude.o: $(BUILD)/codegen/prelude_data.inc $(BUILD)/codegen/prelude_host.inc

# Each thread-level op alone, for tests/gpu/ops.sh.
$(BUILD)/tests/ops: tests/gpu/ops.c $(wildcard tests/unit/micro*.h) tests/unit/text_host.h $(BUILD)/libtlc.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $< $(BUILD)/libtlc.a $(LDFLAGS) $(LDLIBS)

# The emitted text under g++, for tests/suite_text.sh.
$(BUILD)/tests/text_run: tests/text/run.c tests/unit/text_host.h $(BUILD)/libtlc.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d -MT $@ -o $@ $< $(BUILD)/libtlc.a $(LDFLAGS) $(LDLIBS)

# A GPU that is none, and the host prelude, for tests/suite_tune.sh.
$(BUILD)/tests/libcuda.so.1: tests/tune/fake_cuda.c
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -std=c11 -O2 -Wall -Wextra -Wno-unused-parameter -D_GNU_SOURCE -shared -fPIC -o $@ $<

$(BUILD)/tests/host_prelude: tests/tune/host_prelude.c $(BUILD)/libtlc.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(BUILD)/libtlc.a $(LDFLAGS) $(LDLIBS)

check-run: $(BUILD)/tests/text_run $(BUILD)/tests/libcuda.so.1 $(BUILD)/tests/host_prelude
gpu-check: $(BUILD)/tests/ops
