// Assignment: names, stores into buffers, containers, unpacking, augmented and annotated forms.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"
#include "eval/runs.h"

#include <string.h>

void ev_store(Ev *ev, Buffer *b, Expr **idx, Val v, Span at) {
  if (!ev_emits(ev)) ev_outside(ev, "a store", at);
  Expr *x = dev_expr(ev, v, at);
  if (ev_reducer_store(ev, b, idx, x, at)) return;
  ev_emit(ev, st_store(ev->arena, b, idx, b->ndim, x, at));
}

static void store_var(Ev *ev, Buffer *b, Val v, Span at) {
  Expr *zero = ex_index(ev->arena, 0);
  ev_store(ev, b, &zero, v, at);
}

// A buffer is called what it was first assigned to.
static void name_buffers(Ev *ev, Val v, const char *name) {
  if (v.kind == V_BUFFER || v.kind == V_VAR) {
    if (!v.buf->name) v.buf->name = name;
  } else if (v_is_seq(v)) {
    for (int i = 0; i < v.seq->len && i < 64; i++) {
      Val e = v.seq->data[i];
      if (e.kind == V_BUFFER && !e.buf->name)
        e.buf->name = arena_printf(ev->arena, "%s_%d", name, i);
    }
  }
}

static void assign_name(Ev *ev, const char *name, Val v, Span at) {
  name_buffers(ev, v, name);
  Env *home = env_home(ev->env, name);
  const Cell *c = map_get(home->cells, name);
  if (c && c->v.kind == V_VAR && v.kind != V_VAR) {
    ev_need(ev, v);
    store_var(ev, c->v.buf, v, at);
    return;
  }
  if (c && c->v.kind == V_REF) {
    ev_need(ev, v);
    ev_store(ev, c->v.expr->u.load.buf, c->v.expr->u.load.idx, v, at);
    return;
  }
  env_set(ev, name, dev_let(ev, name, v, at), at);
}

// Nothing is stored into what is unknown at compile time; a kernel must not lose a store.
static bool unknown_box(Ev *ev, Val box, Span at) {
  if (!ev_unknown(box)) return false;
  if (!ev_emits(ev)) return true;
  ev_undeclared(ev, box, at);
  ev_need(ev, box);
  ev_opaque(ev, at, box.opaque->what);
}

static void assign_item(Ev *ev, Val box, Val key, Val v, Span at) {
  if (box.kind == V_DICT) {
    rt_mutate(ev, box.dict->born, at);
    dict_set(ev, box.dict, key, v, at);
    return;
  }
  if (box.kind != V_LIST) ev_fail(ev, DIAG_NO_ITEM_STORE, at, v_kind(ev, box));
  (void)ev_getitem(ev, box, key, at); // checks the index
  rt_mutate(ev, box.seq->born, at);
  int64_t c = 0, i = key.kind == V_EXPR && ex_const(key.expr, &c) ? c : v_as_int(key);
  box.seq->data[i < 0 ? i + box.seq->len : i] = v;
}

static bool is_slice(const AstExpr *e) {
  if (e->kind == AST_SLICE || e->kind == AST_ELLIPSIS) return true;
  for (int i = 0; e->kind == AST_TUPLE && i < e->items.len; i++)
    if (is_slice(e->items.data[i])) return true;
  return false;
}

// Where an element is to be stored, and the subscript names more than one.
NORETURN static void slice_store(Ev *ev, const Buffer *b, const AstExpr *index, Span at) {
  const char *name = b->name ? b->name : "the buffer";
  int given = index->kind == AST_TUPLE ? index->items.len : 1;
  if (is_slice(index) || given >= b->ndim) ev_fail(ev, DIAG_SLICE_STORE, at, name);
  ev_fail(ev, DIAG_FEW_INDICES, at, name, b->ndim, given, given == 1 ? "is" : "are");
}

static void assign_index(Ev *ev, const AstExpr *t, Val v, Span at) {
  Val box = ev_expr(ev, t->index.value);
  if (box.kind == V_BUFFER) {
    Region *region = NULL;
    Expr **idx = NULL;
    ev_need(ev, v);
    if (!buf_index(ev, box, t->index.index, &region, &idx, at)) {
      if (ev_store_run(ev, region, v, at)) return;
      slice_store(ev, box.buf, t->index.index, at);
    }
    ev_store(ev, box.buf, idx, v, at);
    return;
  }
  if (box.kind == V_EXPR) {
    Val el = ev_index(ev, box, t->index.index, at);
    store_var(ev, el.expr->u.load.buf, v, at);
    return;
  }
  if (unknown_box(ev, box, at)) return;
  if (t->index.index->kind == AST_SLICE)
    ev_fail(ev, DIAG_NO_SYNTAX, at, "assignment to a slice of a list");
  assign_item(ev, box, ev_expr(ev, t->index.index), v, at);
}

static const char *target_name(const AstExpr *t) { return t->kind == AST_NAME ? t->name : "value"; }

static void unpack(Ev *ev, const AstExpr *t, Val v, Span at) {
  if (ev_unknown(v)) {
    ev_poison_target(ev, t, v);
    return;
  }
  Seq *items = ev_items(ev, v, at);
  int n = t->items.len, star = -1;
  for (int i = 0; i < n; i++) {
    if (t->items.data[i]->kind == AST_STARRED) star = i;
  }
  if (star < 0 ? items->len != n : items->len < n - 1)
    ev_fail(ev, DIAG_UNPACK, at, items->len, star < 0 ? n : n - 1);
  // Values first, targets after: a, b = b, a swaps.
  for (int i = 0; i < items->len; i++) {
    const AstExpr *e = t->items.data[i < n ? i : n - 1];
    items->data[i] = dev_let(ev, target_name(e), items->data[i], at);
  }
  for (int i = 0; i < n; i++) {
    const AstExpr *e = t->items.data[i];
    if (i < star || star < 0) {
      ev_assign(ev, e, items->data[i], e->span);
    } else if (i > star) {
      ev_assign(ev, e, items->data[items->len - n + i], e->span);
    } else {
      Val rest = v_seq(ev, V_LIST, 0);
      for (int k = star; k < items->len - n + star + 1; k++) v_push(ev, rest.seq, items->data[k]);
      ev_assign(ev, e->operand, rest, e->span);
    }
  }
}

void ev_assign(Ev *ev, const AstExpr *target, Val v, Span at) {
  switch (target->kind) {
  case AST_NAME: assign_name(ev, target->name, v, at); break;
  case AST_INDEX: assign_index(ev, target, v, at); break;
  case AST_TUPLE:
  case AST_LIST: unpack(ev, target, v, at); break;
  case AST_ATTR: {
    Val box = ev_expr(ev, target->attr.value);
    if (box.kind == V_OBJECT || box.kind == V_CLASS)
      obj_set(ev, box, target->attr.name.text, v, at);
    else if (!unknown_box(ev, box, at))
      ev_fail(ev, DIAG_NO_ATTR_STORE, at, v_kind(ev, box), target->attr.name.text);
    break;
  }
  default: ev_fail(ev, DIAG_NO_SYNTAX, at, "this assignment target");
  }
}

/* ------------------------------------------------------------------ x += e */

static void aug_buffer(Ev *ev, const AstStmt *s, Val box) {
  Region *region = NULL;
  Expr **idx = NULL;
  const AstExpr *t = s->aug.target;
  if (!buf_index(ev, box, t->index.index, &region, &idx, t->span))
    slice_store(ev, box.buf, t->index.index, t->span);
  Val v = ev_expr(ev, s->aug.value);
  ev_need(ev, v);
  Val old = v_expr(ex_at(ex_load(ev->arena, box.buf, idx, box.buf->ndim), s->aug.target->span), 2);
  ev_store(ev, box.buf, idx, ev_binary(ev, s->aug.op, old, v, s->span), s->span);
}

static Val extend(Ev *ev, Val list, Val v, Span at) {
  rt_mutate(ev, list.seq->born, at);
  Seq *more = ev_items(ev, v, at);
  for (int i = 0; i < more->len; i++) v_push(ev, list.seq, more->data[i]);
  return list;
}

static Val combine(Ev *ev, const AstStmt *s, Val old) {
  Val v = ev_expr(ev, s->aug.value);
  if (old.kind == V_LIST && s->aug.op == AST_OP_ADD && !ev_unknown(v))
    return extend(ev, old, v, s->span);
  return ev_binary(ev, s->aug.op, old, v, s->span);
}

void ev_aug(Ev *ev, const AstStmt *s) {
  const AstExpr *t = s->aug.target;
  if (t->kind == AST_NAME) {
    assign_name(ev, t->name, combine(ev, s, env_read(ev, t->name, t->span)), s->span);
    return;
  }
  if (t->kind == AST_ATTR) {
    Val box = ev_expr(ev, t->attr.value);
    Val old = ev_attr(ev, box, t->attr.name.text, t->span);
    ev_assign(ev, t, combine(ev, s, old), s->span);
    return;
  }
  if (t->kind != AST_INDEX) {
    ev_assign(ev, t, v_none(), s->span);
    return;
  }
  Val box = ev_expr(ev, t->index.value);
  if (unknown_box(ev, box, t->span)) return;
  if (box.kind == V_BUFFER || box.kind == V_REGION) {
    aug_buffer(ev, s, box);
    return;
  }
  if (box.kind == V_EXPR) {
    Val old = ev_index(ev, box, t->index.index, t->span);
    store_var(ev, old.expr->u.load.buf, combine(ev, s, old), s->span);
    return;
  }
  if (t->index.index->kind == AST_SLICE)
    ev_fail(ev, DIAG_NO_SYNTAX, t->span, "assignment to a slice of a list");
  Val key = ev_expr(ev, t->index.index);
  assign_item(ev, box, key, combine(ev, s, ev_getitem(ev, box, key, t->span)), s->span);
}

/* ------------------------------------------------------------------ x: T = e */

static bool is_param(const Func *f, const char *name) {
  for (int i = 0; i < f->params->len; i++) {
    if (!strcmp(f->params->data[i].name, name)) return true;
  }
  return false;
}

void ev_ann(Ev *ev, const AstStmt *s) {
  const AstExpr *t = s->ann.target;
  if (!s->ann.value) {
    if (ev->trace && ev->trace->eager && ev->env->kernel && t->kind == AST_NAME &&
        is_param(ev->trace->fn, t->name))
      ev_declare(ev, t->name, ev_expr(ev, s->ann.annotation), s->span);
    return;
  }
  Val v = ev_expr(ev, s->ann.value);
  if (ev->trace && ev->env->kernel && dev_ok(v)) {
    Val type = ev_expr(ev, s->ann.annotation);
    bool index = v.kind != V_EXPR ||
                 (v.expr->type == DT_INDEX && type.kind == V_DTYPE && dt_is_int(type.dtype));
    if (type.kind == V_DTYPE && !index)
      v = dev_wrap(ev, ex_cast(ev->arena, type.dtype, v.expr), s->span, v, v_none(), v_none());
  }
  ev_assign(ev, t, v, s->span);
}
