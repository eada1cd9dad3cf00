# Generated front end, embedded device prelude, tests. Included by the Makefile.
# SPDX-License-Identifier: MIT

$(BUILD)/lexer/scan.c: lexer/scan.l $(BUILD)/parser/grammar.h
	@mkdir -p $(@D)
	flex -o $@ --header-file=$(BUILD)/lexer/scan.h $<

$(BUILD)/parser/grammar.c $(BUILD)/parser/grammar.h &: parser/grammar.y
	@mkdir -p $(BUILD)/parser
	bison -Wall -Wcounterexamples -Werror -o $(BUILD)/parser/grammar.c --header=$(BUILD)/parser/grammar.h $<

$(BUILD)/lexer/scan.o: $(BUILD)/parser/grammar.h
$(filter $(BUILD)/lexer/% $(BUILD)/parser/%,$(OBJ)): | $(BUILD)/lexer/scan.c $(BUILD)/parser/grammar.h

# A unit test links every room but main; its own file holds the Check suite.
$(BUILD)/unit/%: tests/unit/%.c $(LIBOBJ)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LIBOBJ) $(LDFLAGS) -lcheck -lsubunit -lrt $(LDLIBS)

unit: $(UNIT)
	@set -e; for t in $(UNIT); do $$t; done

.PHONY: unit
