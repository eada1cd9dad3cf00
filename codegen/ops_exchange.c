// Ops by which threads get one another's values, and those that say something, as calls of device
// helpers.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <string.h>

// "reg[i] = ", the register that a result goes to.
static void begin_result(Cg *c, const Region *r) {
  cg_begin(c);
  cg_element(c, r);
  cg_text(c, " = ");
}

static void end(Cg *c) {
  cg_text(c, ");");
  cg_end(c);
}

// The warp's lanes that exist.
static void lanes(Cg *c) {
  if (c->k->threads % 32 == 0) {
    cg_text(c, "0xffffffffu");
    return;
  }
  needs_add(c->needs, "warp_lanes");
  cg_text(c, "tlc_warp_lanes<%d>()", c->k->threads);
}

void cg_shuffle(Cg *c, const Stmt *s) {
  static const char *const modes[] = {[SHUFFLE_INDEX] = "index",
                                      [SHUFFLE_XOR] = "xor",
                                      [SHUFFLE_UP] = "up",
                                      [SHUFFLE_DOWN] = "down"};
  const Arg *arg = s->u.op.arg;
  const Region *dst = arg[1].region;
  const char *mode = modes[arg[3].i];
  needs_add(c->needs, "shuffle_%s", mode);
  begin_result(c, dst);
  cg_text(c, "tlc_shuffle_%s<%s>(", mode, cg_type(dst->buf->dtype));
  lanes(c);
  cg_text(c, ", ");
  cg_value(c, arg[0].expr, dst->buf->dtype, P_TERNARY);
  cg_text(c, ", ");
  cg_value(c, arg[2].expr, DT_I32, P_TERNARY);
  cg_text(c, ", %d", (int)arg[4].i);
  end(c);
}

void cg_vote(Cg *c, const Stmt *s) {
  static const char *const kinds[] = {"any", "all", "ballot", "count"};
  const Arg *arg = s->u.op.arg;
  const Region *dst = arg[1].region;
  bool block = s->u.op.op == OP_BLOCK_VOTE;
  needs_add(c->needs, "%s_%s", block ? "block" : "warp", kinds[arg[2].i]);
  begin_result(c, dst);
  cg_text(c, "%s(tlc_%s_%s(", cg_type(dst->buf->dtype), block ? "block" : "warp", kinds[arg[2].i]);
  if (!block) {
    lanes(c);
    cg_text(c, ", ");
  }
  cg_expr(c, arg[0].expr, P_TERNARY);
  cg_text(c, ")");
  end(c);
}

void cg_match(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  DType t = dt_bits(arg[0].expr->type) == 64 ? DT_U64 : DT_U32;
  const char *name = arg[2].i ? "match_all" : "match_any";
  needs_add(c->needs, "%s", name);
  begin_result(c, arg[1].region);
  cg_text(c, "tlc_%s<%s>(", name, cg_type(t));
  lanes(c);
  cg_text(c, ", ");
  cg_value(c, arg[0].expr, t, P_TERNARY);
  end(c);
}

void cg_find_bit(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  bool first = ex_is(arg[2].expr, 0) && ex_is(arg[3].expr, 1);
  needs_add(c->needs, first ? "find_first" : "find_bit");
  begin_result(c, arg[1].region);
  cg_text(c, first ? "tlc_find_first(" : "tlc_find_bit(");
  cg_value(c, arg[0].expr, DT_U64, P_TERNARY);
  for (int i = 2; i < 4 && !first; i++) {
    cg_text(c, ", ");
    cg_value(c, arg[i].expr, DT_I32, P_TERNARY);
  }
  end(c);
}

/* ------------------------------------------------------------------ atomics */

const char *cg_atomic_name(AtomicFn fn) {
  static const char *const names[] = {
      [ATOMIC_ADD] = "atomic_add", [ATOMIC_MAX] = "atomic_max", [ATOMIC_MIN] = "atomic_min",
      [ATOMIC_AND] = "atomic_and", [ATOMIC_OR] = "atomic_or",   [ATOMIC_XOR] = "atomic_xor",
      [ATOMIC_SET] = "atomic_set"};
  return names[fn];
}

static void fence(Cg *c, bool wanted) {
  if (!wanted) return;
  needs_add(c->needs, "fence");
  cg_line(c, "tlc_fence();");
}

// What came before is seen by whoever sees the update; what comes after sees what it saw.
static bool releases(int64_t order) { return order >= ORDER_RELEASE; }

static bool acquires(int64_t order) {
  return order == ORDER_CONSUME || order == ORDER_ACQUIRE || order >= ORDER_ACQ_REL;
}

void cg_atomic(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  const Region *dst = arg[0].region, *prev = arg[4].region;
  AtomicFn fn = (AtomicFn)arg[2].i;
  const char *name = cg_atomic_name(fn);
  DType t = dst->buf->dtype;
  bool all = fn > ATOMIC_MIN; // one function for all types
  fence(c, releases(arg[3].i));
  if (prev) {
    begin_result(c, prev);
    all = all || fn == ATOMIC_ADD || !dt_is_float(t);
    name = arena_printf(c->arena, "atomic_fetch_%s", name + strlen("atomic_"));
    if (prev->buf->dtype != t)
      die("an old value of %s as %s", dt_name(t), dt_name(prev->buf->dtype));
  } else cg_begin(c);
  if (all) needs_add(c->needs, "%s", name);
  else needs_add(c->needs, "%s_%s", name, cg_short(t));
  cg_text(c, all ? "tlc_%s<%s>(" : "tlc_%s(", name, cg_type(t));
  cg_address(c, dst);
  cg_text(c, ", ");
  cg_value(c, arg[1].expr, t, P_TERNARY);
  end(c);
  fence(c, acquires(arg[3].i));
}

void cg_atomic_load(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  fence(c, arg[2].i == ORDER_SEQ_CST);
  needs_add(c->needs, "atomic_get");
  begin_result(c, arg[1].region);
  cg_text(c, "tlc_atomic_get(");
  cg_address(c, arg[0].region);
  end(c);
  fence(c, acquires(arg[2].i));
}

/* ------------------------------------------------------------------ what threads say */

static void text(Cg *c, const char *s) {
  if (s) cg_text(c, "\"%s\"", cg_escape(c->arena, s));
  else cg_text(c, "nullptr");
}

void cg_print(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  Expr *value = arg[1].expr;
  cg_begin(c);
  if (!value) {
    needs_add(c->needs, "print_text");
    cg_text(c, "tlc_print(");
    text(c, arg[0].text);
    end(c);
    return;
  }
  bool number = dt_is_float(value->type);
  DType t = number ? DT_F64 : value->type == DT_U64 ? DT_U64 : DT_I64;
  needs_add(c->needs, "print_%s", cg_short(t));
  cg_text(c, "tlc_print(");
  text(c, arg[0].text);
  cg_text(c, ", %s(", cg_type(t));
  cg_value(c, value, t, P_TERNARY);
  cg_text(c, ")");
  end(c);
}

void cg_assert(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  needs_add(c->needs, "assert");
  cg_begin(c);
  cg_text(c, "if (!(");
  cg_expr(c, arg[0].expr, P_TERNARY);
  cg_text(c, ")) tlc_assert(");
  text(c, arg[1].text ? arg[1].text : "a device assertion");
  end(c);
}

/* ------------------------------------------------------------------ foreign functions */

// A function that reads may take its operand without const, as most are written.
static void extern_address(Cg *c, const Region *r, char how) {
  bool tensor = r->buf->scope == SC_GLOBAL && how == 'r';
  if (tensor) cg_text(c, "const_cast<%s *>(", cg_type(r->buf->dtype));
  cg_address(c, r);
  if (tensor) cg_text(c, ")");
}

void cg_extern(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  int pointer = op_arg(OP_EXTERN, "p0"), value = op_arg(OP_EXTERN, "e0");
  const Region *result = arg[op_arg(OP_EXTERN, "result")].region;
  if (result && names_of(c->names, result->buf)->used) begin_result(c, result);
  else cg_begin(c);
  cg_text(c, "%s(", arg[0].text);
  for (const char *o = arg[1].text ? arg[1].text : "", *first = o; *o; o++) {
    if (o != first) cg_text(c, ", ");
    if (*o != 'e') {
      extern_address(c, arg[pointer++].region, *o);
      continue;
    }
    Expr *x = arg[value++].expr;
    cg_value(c, x, x->type == DT_INDEX ? DT_I32 : x->type, P_TERNARY);
  }
  end(c);
}
