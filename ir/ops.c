// The op table, parsed once from ops.def.
// SPDX-License-Identifier: MIT
#include "ir/ir.h"

#include <pthread.h>
#include <string.h>

#define TILE LEVEL_TILE
#define THREAD LEVEL_THREAD
#define BOTH LEVEL_BOTH
#define NONE SYNC_NONE
#define WARP SYNC_WARP
#define BLOCK SYNC_BLOCK
#define COMMIT SYNC_COMMIT
#define WAIT SYNC_WAIT
#define WARPGROUP SYNC_WARPGROUP
static const struct {
  const char *name;
  Level level;
  SyncClass sync;
  const char *operands, *meaning;
} table[] = {
#define OP(e, name, level, sync, operands, meaning) {name, level, sync, operands, meaning},
#include "ir/ops.def"
#undef OP
};
#undef TILE
#undef THREAD
#undef BOTH
#undef NONE
#undef WARP
#undef BLOCK
#undef COMMIT
#undef WAIT
#undef WARPGROUP

static OpInfo infos[OP_COUNT];
static char names[OP_COUNT][OP_MAX_ARGS][16];

static void parse_operands(int op) {
  static const char kinds[] = "rwuxapeis"; // order of ArgKind
  OpInfo *info = &infos[op];
  for (const char *p = table[op].operands; *p;) {
    const char *kind = strchr(kinds, *p);
    size_t n = strcspn(p, " ");
    if (!kind || p[1] != ':' || info->nargs == OP_MAX_ARGS || n - 2 >= sizeof names[0][0])
      die("ops.def: bad operands of %s", table[op].name);
    int i = info->nargs++;
    info->arg[i].kind = (ArgKind)(kind - kinds);
    info->arg[i].optional = p[n - 1] == '?';
    memcpy(names[op][i], p + 2, n - 2 - info->arg[i].optional);
    info->arg[i].name = names[op][i];
    p += n;
    p += *p == ' ';
  }
}

static void parse_table(void) {
  for (int op = 0; op < OP_COUNT; op++) {
    infos[op].name = table[op].name;
    infos[op].level = table[op].level;
    infos[op].sync = table[op].sync;
    infos[op].meaning = table[op].meaning;
    parse_operands(op);
  }
}

const OpInfo *op_info(OpCode op) {
  static pthread_once_t once = PTHREAD_ONCE_INIT; // the tuner compiles on several threads
  pthread_once(&once, parse_table);
  return &infos[op];
}

bool op_find(const char *name, OpCode *out) {
  for (int op = 0; op < OP_COUNT; op++) {
    if (!strcmp(table[op].name, name)) return *out = (OpCode)op, true;
  }
  return false;
}

bool arg_is_region(ArgKind kind) { return kind < ARG_EXPR; }

int op_arg(OpCode op, const char *name) {
  const OpInfo *info = op_info(op);
  for (int i = 0; i < info->nargs; i++) {
    if (!strcmp(info->arg[i].name, name)) return i;
  }
  die("op %s has no operand %s", info->name, name);
}

bool op_reduces(AtomicFn fn, DType t) {
  bool half = t == DT_F16 || t == DT_BF16, whole = t == DT_I32 || t == DT_U32 || t == DT_U64;
  if (fn == ATOMIC_ADD) return half || whole || t == DT_F32 || t == DT_F64;
  return (fn == ATOMIC_MAX || fn == ATOMIC_MIN) && (half || whole || t == DT_I64);
}
