# tlc: make            build/tlc
#      make demo       build, compile samples/gemm.tl, run and check it, and say what happened
#      make check      all tests that need no GPU
#      make help       the other targets
# SPDX-License-Identifier: MIT
BUILD   ?= build
PREFIX  ?= /usr/local
CC      ?= cc
OPT     ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
CPPFLAGS += -D_GNU_SOURCE -I. -I$(BUILD)
CFLAGS  += -std=c11 $(OPT) $(WARN)
ifeq ($(STATIC),1)
LDFLAGS += -static-libgcc
LDLIBS  += -l:libsqlite3.a -l:libnettle.a
else
LDLIBS  += -lsqlite3 -lnettle
endif
LDLIBS  += -ldl -lm -lpthread

ROOMS   := base lexer parser eval ir passes codegen emu runtime tuner driver
SRC     := $(foreach r,$(ROOMS),$(wildcard $(r)/*.c))
GEN     := $(BUILD)/lexer/scan.c $(BUILD)/parser/grammar.c
OBJ     := $(SRC:%.c=$(BUILD)/%.o) $(GEN:.c=.o)
LIBOBJ  := $(filter-out $(BUILD)/driver/main.o,$(OBJ))
UNIT    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))

all: $(BUILD)/tlc

# Commands are shown with V=1.
ifneq ($(V),1)
say      = @echo "  $(1) $(2)"
Q        := @
endif

$(BUILD)/tlc: $(BUILD)/driver/main.o $(BUILD)/libtlc.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Every room but main, for tlc and its tests.
$(BUILD)/libtlc.a: $(LIBOBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Generated sources carry their tool's own warnings, not ours.
$(BUILD)/%.o: $(BUILD)/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) -std=c11 $(OPT) -MMD -MP -c -o $@ $<

include tools/rules.mk
-include $(OBJ:.o=.d)

.PHONY: all
