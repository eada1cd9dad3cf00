// Expressions with variables and buffers resolved to slots, and marked uniform where all lanes
// agree.
// SPDX-License-Identifier: MIT
#include "emu/machine.h"

#include <string.h>

/* pointer map: open addressing, power-of-two size */

struct SlotMap {
  Arena *arena;
  const void **key;
  int *value;
  int len, cap;
};

SlotMap *slotmap_new(Arena *a) {
  SlotMap *m = NEW(a, SlotMap);
  m->arena = a;
  m->cap = 64;
  m->key = NEWN(a, const void *, m->cap);
  m->value = NEWN(a, int, m->cap);
  return m;
}

static int slotmap_slot(const SlotMap *m, const void *key) {
  uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  int i = (int)(h >> 32) & (m->cap - 1);
  while (m->key[i] && m->key[i] != key) i = (i + 1) & (m->cap - 1);
  return i;
}

static void slotmap_grow(SlotMap *m) {
  SlotMap old = *m;
  m->cap *= 2;
  m->key = NEWN(m->arena, const void *, m->cap);
  m->value = NEWN(m->arena, int, m->cap);
  for (int i = 0; i < old.cap; i++) {
    if (!old.key[i]) continue;
    int at = slotmap_slot(m, old.key[i]);
    m->key[at] = old.key[i];
    m->value[at] = old.value[i];
  }
}

int *slotmap_at(SlotMap *m, const void *key, bool *fresh) {
  if (m->len * 2 >= m->cap) slotmap_grow(m);
  int i = slotmap_slot(m, key);
  *fresh = !m->key[i];
  if (*fresh) {
    m->key[i] = key;
    m->len++;
  }
  return &m->value[i];
}

/* slots */

int emu_bind(Compiler *c, const Var *v, bool uniform) {
  bool fresh;
  int *slot = slotmap_at(c->vars, v, &fresh);
  // A variable bound twice (two loops that share a Var) keeps the weaker class.
  if (!fresh && (*slot & SLOT_LANE || uniform)) return *slot;
  *slot = uniform ? c->nuniform++ * 2 : c->nlane++ * 2 + SLOT_LANE;
  return *slot;
}

int emu_buffer(Compiler *c, const Buffer *b) {
  bool fresh;
  int *slot = slotmap_at(c->buffers, b, &fresh);
  if (fresh) *slot = c->nbuffers++;
  return *slot;
}

/* expressions */

static void compile_var(Compiler *c, Node *n, const Expr *x) {
  bool fresh;
  n->slot = *slotmap_at(c->vars, x->u.var, &fresh);
  if (fresh) die("variable '%s' is used before it is bound", x->u.var->name);
  n->uniform = !(n->slot & SLOT_LANE);
}

static void compile_load(Compiler *c, Node *n, const Expr *x) {
  n->slot = emu_buffer(c, x->u.load.buf);
  n->n = x->u.load.n;
  n->idx = NEWN(c->arena, Node *, n->n ? n->n : 1);
  n->uniform = c->loads_uniform && x->u.load.buf->scope != SC_LOCAL;
  for (int i = 0; i < n->n; i++) {
    n->idx[i] = emu_compile(c, x->u.load.idx[i]);
    n->uniform &= n->idx[i]->uniform;
  }
}

// thread // 32k is one number for a whole warp, although the thread index is not: THREAD level
// only, where lanes are 32 consecutive threads from a multiple of 32.
static bool warp_number(const Compiler *c, const Expr *x) {
  int64_t d;
  return !c->loads_uniform && x->u.bin.op == BIN_FLOORDIV && x->u.bin.a->kind == EX_VAR &&
         x->u.bin.a->u.var->kind == VAR_THREAD && ex_const(x->u.bin.b, &d) && d > 0 && d % 32 == 0;
}

static void compile_binary(Compiler *c, Node *n, const Expr *x) {
  n->op = (uint8_t)x->u.bin.op;
  n->a = emu_compile(c, x->u.bin.a);
  n->b = emu_compile(c, x->u.bin.b);
  n->from = x->u.bin.a->type;
  n->uniform = (n->a->uniform && n->b->uniform) || warp_number(c, x);
}

static void compile_math(Compiler *c, Node *n, const Expr *x) {
  Node **slot[3] = {&n->a, &n->b, &n->c};
  n->op = (uint8_t)x->u.math.fn;
  n->n = x->u.math.n;
  n->from = x->u.math.arg[0]->type;
  n->uniform = true;
  for (int i = 0; i < n->n; i++) {
    *slot[i] = emu_compile(c, x->u.math.arg[i]);
    n->uniform &= (*slot[i])->uniform;
  }
}

Node *emu_compile(Compiler *c, const Expr *x) {
  Node *n = NEW(c->arena, Node);
  n->kind = (uint8_t)x->kind;
  n->type = n->from = x->type;
  n->span = x->span;
  n->uniform = true;
  switch (x->kind) {
  case EX_INT: n->k.i = x->u.i; break;
  case EX_FLOAT: n->k.f = x->u.f; break;
  case EX_VAR: compile_var(c, n, x); break;
  case EX_LOAD: compile_load(c, n, x); break;
  case EX_BINARY: compile_binary(c, n, x); break;
  case EX_MATH: compile_math(c, n, x); break;
  case EX_UNARY:
    n->op = (uint8_t)x->u.un.op;
    n->a = emu_compile(c, x->u.un.a);
    n->from = x->u.un.a->type;
    n->uniform = n->a->uniform;
    break;
  case EX_CAST:
  case EX_BITCAST:
    n->a = emu_compile(c, x->u.cast);
    n->from = x->u.cast->type;
    n->uniform = n->a->uniform;
    break;
  case EX_SELECT:
    n->a = emu_compile(c, x->u.sel.cond);
    n->b = emu_compile(c, x->u.sel.yes);
    n->c = emu_compile(c, x->u.sel.no);
    n->uniform = n->a->uniform && n->b->uniform && n->c->uniform;
    break;
  }
  return n;
}
