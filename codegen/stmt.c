// Statements as C++ text.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

static const char *var_type(Cg *c, const Var *v) {
  if (v->type != DT_INDEX) return cg_type(v->type);
  return names_of(c->names, v)->bits == 32 ? "int" : "int64_t";
}

static void block(Cg *c, const Stmt *s) {
  for (int i = 0; i < s->u.block.len; i++) {
    const Stmt *child = s->u.block.data[i];
    if (child->kind != ST_BLOCK) {
      cg_stmt(c, child);
      continue;
    }
    cg_open(c, "{");
    int names = names_mark(c->names), facts = facts_mark(c->facts);
    cg_stmt(c, child);
    names_pop(c->names, names);
    facts_pop(c->facts, facts);
    cg_close(c, "}");
  }
}

// A statement as the body of braces that the caller writes.
static void body(Cg *c, const Stmt *s) {
  int names = names_mark(c->names);
  cg_stmt(c, s);
  names_pop(c->names, names);
}

static bool has_load(Expr *x) {
  switch (x->kind) {
  case EX_LOAD: return true;
  case EX_UNARY: return has_load(x->u.un.a);
  case EX_BINARY: return has_load(x->u.bin.a) || has_load(x->u.bin.b);
  case EX_CAST:
  case EX_BITCAST: return has_load(x->u.cast);
  case EX_SELECT: return has_load(x->u.sel.cond) || has_load(x->u.sel.yes) || has_load(x->u.sel.no);
  case EX_MATH:
    for (int i = 0; i < x->u.math.n; i++) {
      if (has_load(x->u.math.arg[i])) return true;
    }
    return false;
  default: return false;
  }
}

static int loop_bits(Cg *c, Expr *min, Expr *end) {
  int64_t lo, hi, elo, ehi;
  cg_range(c, min, &lo, &hi);
  cg_range(c, end, &elo, &ehi);
  return cg_fits32(lo, hi) && cg_fits32(lo < elo ? lo : elo, ehi) ? 32 : 64;
}

// The bound is evaluated once: a name for it where evaluating it again could read something else.
static const char *loop_end(Cg *c, const Var *v, Expr *end) {
  if (!has_load(end)) return NULL;
  Var *bound =
      var_new(c->arena, arena_printf(c->arena, "%s_end", v->name), v->type, VAR_LET, v->span);
  names_of(c->names, bound)->bits = names_of(c->names, v)->bits;
  names_declare(c->names, bound, bound->name);
  cg_begin(c);
  cg_text(c, "const %s %s = ", var_type(c, bound), names_of(c->names, bound)->text);
  cg_expr(c, end, P_TERNARY);
  cg_text(c, ";");
  cg_end(c);
  return names_of(c->names, bound)->text;
}

// Does only its condition end the loop, and nothing count its rounds?
static bool endless(const Stmt *s) {
  int64_t n;
  if (!s->u.loop.cond || !ex_const(s->u.loop.extent[0], &n) || n < LOOP_ENDLESS) return false;
  return !st_uses(s->u.loop.body, s->u.loop.var[0]);
}

static void loop(Cg *c, const Stmt *s) {
  // A vectorized loop, which only a .tir can still hold, may run in any order: in this one too.
  if (s->u.loop.loop == LOOP_PARALLEL || s->u.loop.loop == LOOP_PIPELINED)
    die("a loop of kind %d at THREAD level", (int)s->u.loop.loop);
  Var *v = s->u.loop.var[0];
  Expr *min = s->u.loop.min[0], *end = ex_add(c->arena, min, s->u.loop.extent[0]);
  if (v->type == DT_INDEX) names_of(c->names, v)->bits = loop_bits(c, min, end);
  const char *bound = loop_end(c, v, end); // declared beside the loop: visible after it as well
  int names = names_mark(c->names), facts = facts_mark(c->facts);
  const char *name = names_declare(c->names, v, v->name);
  if (s->u.loop.loop == LOOP_UNROLL) {
    if (s->u.loop.unroll) cg_line(c, "#pragma unroll %d", s->u.loop.unroll);
    else cg_line(c, "#pragma unroll");
  }
  if (endless(s)) {
    cg_begin(c);
    cg_text(c, "while (");
    cg_expr(c, s->u.loop.cond, P_TERNARY);
    cg_text(c, ") {");
    cg_end(c);
    c->indent++;
    body(c, s->u.loop.body);
    cg_close(c, "}");
    facts_pop(c->facts, facts);
    names_pop(c->names, names);
    return;
  }
  cg_begin(c);
  cg_text(c, "for (%s %s = ", var_type(c, v), name);
  cg_expr(c, min, P_TERNARY);
  cg_text(c, "; %s < ", name);
  if (bound) cg_text(c, "%s", bound);
  else cg_expr(c, end, P_SHIFT);
  if (s->u.loop.cond) {
    cg_text(c, " && ");
    cg_expr(c, s->u.loop.cond, P_AND + 1);
  }
  cg_text(c, "; ++%s) {", name);
  cg_end(c);
  facts_push_loop(c->facts, v, min, s->u.loop.extent[0]);
  c->indent++;
  body(c, s->u.loop.body);
  cg_close(c, "}");
  facts_pop(c->facts, facts);
  names_pop(c->names, names);
}

// The only statement of a block, for "else if".
static const Stmt *only(const Stmt *s) {
  return s->kind == ST_BLOCK && s->u.block.len == 1 ? s->u.block.data[0] : s;
}

static void branch(Cg *c, const Stmt *s, const char *lead) {
  cg_begin(c);
  cg_text(c, "%sif (", lead);
  cg_expr(c, s->u.branch.cond, P_TERNARY);
  cg_text(c, ") {");
  cg_end(c);
  c->indent++;
  int facts = facts_mark(c->facts);
  facts_push_cond(c->facts, s->u.branch.cond);
  body(c, s->u.branch.yes);
  facts_pop(c->facts, facts);
  c->indent--;
  if (!s->u.branch.no) {
    cg_line(c, "}");
    return;
  }
  facts_push_cond(c->facts, ex_un(c->arena, UN_NOT, s->u.branch.cond));
  const Stmt *no = only(s->u.branch.no);
  if (no->kind == ST_IF) {
    branch(c, no, "} else ");
  } else {
    cg_open(c, "} else {");
    body(c, s->u.branch.no);
    cg_close(c, "}");
  }
  facts_pop(c->facts, facts);
}

static void let(Cg *c, const Stmt *s) {
  Var *v = s->u.let.var;
  Name *name = names_of(c->names, v);
  facts_push_let(c->facts, v, s->u.let.value);
  if (!name->used) return;
  if (v->type == DT_INDEX) name->bits = cg_bits(c, s->u.let.value);
  const char *text = names_declare(c->names, v, v->name);
  cg_begin(c);
  cg_text(c, "const %s %s = ", var_type(c, v), text);
  cg_value(c, s->u.let.value, v->type, P_TERNARY);
  cg_text(c, ";");
  cg_end(c);
}

static void store(Cg *c, const Stmt *s) {
  const Buffer *b = s->u.store.buf;
  const Name *name = names_of(c->names, b);
  if (!name->text) die("buffer %s is not declared", b->name);
  if (!name->scalar && s->u.store.n != 1)
    die("%s has %d dimensions at THREAD level", b->name, s->u.store.n);
  cg_begin(c);
  cg_text(c, "%s", name->text);
  if (!name->scalar) {
    cg_text(c, "[");
    cg_expr(c, s->u.store.idx[0], P_TERNARY);
    cg_text(c, "]");
  }
  cg_text(c, " = ");
  cg_value(c, s->u.store.value, b->dtype, P_TERNARY);
  cg_text(c, ";");
  cg_end(c);
}

// A fact that the source states: trapped where it does not hold, under -g only.
static void assume(Cg *c, const Stmt *s) {
  if (c->o->debug && !s->known) {
    needs_add(c->needs, "trap");
    cg_begin(c);
    cg_text(c, "if (!(");
    cg_expr(c, s->u.assume, P_TERNARY);
    cg_text(c, ")) tlc_trap();");
    cg_end(c);
  }
  facts_push_cond(c->facts, s->u.assume);
}

void cg_stmt(Cg *c, const Stmt *s) {
  bool silent = s->kind == ST_BLOCK || (s->kind == ST_ASSUME && (s->known || !c->o->debug)) ||
                (s->kind == ST_LET && !names_of(c->names, s->u.let.var)->used);
  if (!silent) cg_mark(c, s->span);
  switch (s->kind) {
  case ST_BLOCK: block(c, s); break;
  case ST_FOR: loop(c, s); break;
  case ST_IF: branch(c, s, ""); break;
  case ST_LET: let(c, s); break;
  case ST_STORE: store(c, s); break;
  case ST_OP: cg_op(c, s); break;
  case ST_ASSUME: assume(c, s); break;
  }
}
