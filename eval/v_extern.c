// Foreign CUDA code: its text, and calls of its functions.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

enum { POINTERS = 4, VALUES = 4 };

// "r", "w" or a mask of 1 and 2: how a function uses the address. Else it may read and write.
static uint32_t access_of(Ev *ev, Call *c) {
  if (strcmp(c->fn->name, "access_ptr") != 0 || c->rest->len < 2) return 'p';
  Val v = c->rest->data[1];
  if (v.kind == V_STR)
    return !strcmp(v.str->data, "r") ? 'r' : !strcmp(v.str->data, "w") ? 'w' : 'p';
  return v_is_int(v) && v_as_int(v) == 1 ? 'r' : v_is_int(v) && v_as_int(v) == 2 ? 'w' : 'p';
}

// An address: of an element, of a slice's first element, of a buffer's.
Val t_address(Ev *ev, Call *c) {
  need_kernel(ev, c);
  Side s;
  if (c->rest->len < 1 || !side_of(ev, c->rest->data[0], c->pos_at.data[0], &s))
    ev_fail(ev, DIAG_ADDRESS, c->span, c->fn->name,
            c->rest->len ? v_kind(ev, c->rest->data[0]) : "nothing");
  if (arg_int(ev, c, 0, 0))
    ev_fail(ev, DIAG_UNSUPPORTED, c->at[0], arena_printf(ev->arena, "T.%s(offset=)", c->fn->name));
  return (Val){.kind = V_ADDRESS, .size = access_of(ev, c), .region = side_region(ev, &s, c->span)};
}

void ev_add_source(Ev *ev, const char *text) {
  Program *p = ev->trace->program;
  for (int i = 0; i < p->sources.len; i++)
    if (!strcmp(p->sources.data[i], text)) return;
  if (*text) vec_push(ev->arena, &p->sources, text);
}

Val t_import_source(Ev *ev, Call *c) {
  need_kernel(ev, c);
  ev_add_source(ev, arg_str(ev, c, 0, ""));
  return v_none();
}

typedef struct {
  Region *pointer[POINTERS];
  Expr *value[VALUES];
  int npointers, nvalues;
  SB order; // "rwe": a pointer to read, one to write, a value
} Operands;

static void operand(Ev *ev, Operands *o, Val v, Span at) {
  bool pointer = v.kind == V_ADDRESS || v.kind == V_BUFFER;
  if (pointer ? o->npointers == POINTERS : o->nvalues == VALUES)
    ev_fail(ev, DIAG_EXTERN_ARGS, at, POINTERS, VALUES);
  sb_printf(ev, &o->order, "%c", v.kind == V_ADDRESS ? (char)v.size : pointer ? 'p' : 'e');
  if (!pointer) {
    o->value[o->nvalues++] = dev_expr(ev, v, at);
    return;
  }
  Region *r = v.kind == V_ADDRESS ? v.region : region_whole(ev->arena, v.buf);
  if (r->buf->scope == SC_FRAGMENT)
    ev_fail(ev, DIAG_EXTERN_FRAGMENT, at, r->buf->name ? r->buf->name : "this");
  o->pointer[o->npointers++] = r;
}

// (dtype, name, operands...) or (name, operands..., dtype=): what it gives, if anything.
Val t_call_extern(Ev *ev, Call *c) {
  need_kernel(ev, c);
  DType t;
  int n = c->rest->len, first = 0;
  Val *arg = c->rest->data, type = c->arg[0];
  if (type.kind == V_UNSET && n) type = arg[first++];
  if (first >= n || arg[first].kind != V_STR || !sym_identifier(arg[first].str->data))
    ev_fail(ev, DIAG_EXTERN_NAME, c->span);
  const char *name = arg[first++].str->data;
  bool none =
      type.kind == V_STR && (!strcmp(type.str->data, "handle") || !strcmp(type.str->data, "void"));
  if (!none && !val_dtype(ev, type, &t))
    ev_fail(ev, DIAG_ARGUMENT, c->span, "T.call_extern", "dtype", "a dtype, \"handle\" or \"void\"",
            v_brief(ev, type));
  Operands o = {.order = {0}};
  sb_puts(ev, &o.order, "");
  for (int i = first; i < n; i++) operand(ev, &o, arg[i], c->pos_at.data[i]);
  Region *to = NULL;
  Val r = none ? v_none() : ev_result(ev, "given", t, 1, c->span, &to);
  ev_emit(ev, st_op(ev->arena, OP_EXTERN, c->span, name, o.order.len ? o.order.data : NULL,
                    o.pointer[0], o.pointer[1], o.pointer[2], o.pointer[3], o.value[0], o.value[1],
                    o.value[2], o.value[3], to));
  return r;
}
