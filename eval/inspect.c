// Python's builtins that look at values, and small conversions.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include "eval/handlers.h"

#include <math.h>
#include <string.h>

// 1, 0, or -1 when tlc cannot say.
static int is_instance(Val v, Val type) {
  if (type.kind == V_TUPLE) {
    int any = 0;
    for (int i = 0; i < type.seq->len && any != 1; i++) {
      int r = is_instance(v, type.seq->data[i]);
      if (r) any = r;
    }
    return any;
  }
  if (type.kind == V_EXC) return v.kind == V_EXC && ev_matches(&type, v.exc->type);
  if (type.kind == V_CLASS) return obj_is(v, type.cls);
  if (type.kind != V_BUILTIN) return -1;
  const char *t = type.builtin->name;
  switch (v.kind) {
  case V_BOOL: return !strcmp(t, "bool") || !strcmp(t, "int");
  case V_INT: return !strcmp(t, "int");
  case V_FLOAT: return !strcmp(t, "float");
  case V_STR: return !strcmp(t, "str");
  case V_EXPR:
  case V_VAR: return !strcmp(t, "PrimExpr");
  case V_DTYPE: return !strcmp(t, "str") || !strcmp(t, "dtype");
  case V_TUPLE: return !strcmp(t, "tuple");
  case V_LIST: return !strcmp(t, "list");
  case V_DICT: return !strcmp(t, "dict");
  case V_SET: return !strcmp(t, "set") || !strcmp(t, "frozenset");
  case V_RANGE: return !strcmp(t, "range");
  default: return 0;
  }
}

Val b_isinstance(Ev *ev, Call *c) {
  int r = is_instance(c->arg[0], c->arg[1]);
  return r < 0 ? v_opaque(ev, "isinstance()") : v_bool(r);
}

typedef struct {
  Val v, out;
  const char *name;
  Span at;
} Attr;

static void read_attr(Ev *ev, void *arg) {
  Attr *a = arg;
  a->out = ev_attr(ev, a->v, a->name, a->at);
}

static bool try_attr(Ev *ev, Call *c, Val *out) {
  Exc x = {"AttributeError", NULL};
  Val handler = {.kind = V_EXC, .exc = &x};
  Attr a = {c->arg[0], v_none(), arg_str(ev, c, 1, ""), c->span};
  bool ok = ev_try(ev, &handler, 1, read_attr, &a);
  *out = a.out;
  return ok;
}

Val b_getattr(Ev *ev, Call *c) {
  if (c->arg[2].kind == V_UNSET) return ev_attr(ev, c->arg[0], arg_str(ev, c, 1, ""), c->span);
  Val out;
  return try_attr(ev, c, &out) ? out : c->arg[2];
}

Val b_hasattr(Ev *ev, Call *c) {
  Val out;
  return v_bool(try_attr(ev, c, &out));
}

Val b_callable(Ev *ev, Call *c) {
  ValKind k = c->arg[0].kind;
  return v_bool(k == V_FUNC || k == V_BUILTIN || k == V_METHOD || k == V_DTYPE);
}

// Output is tlc's own. What print would show of a run-time value is lost, so that is said.
Val b_print(Ev *ev, Call *c) {
  for (int i = 0; i < c->rest->len; i++) {
    Val v = c->rest->data[i];
    if (!ev_is_rt(v)) continue;
    diag_report(ev->diags, DIAG_PRINT_RT, c->span, ev_source(ev, c->pos_at.data[i]));
    break;
  }
  return v_none();
}

Val b_type(Ev *ev, Call *c) { return v_opaque(ev, "type()"); }

Val b_round(Ev *ev, Call *c) {
  Val v = c->arg[0];
  if (!v_is_num(v))
    ev_fail(ev, DIAG_OPERAND, c->at[0], "round", v_kind(ev, v),
            "a number; T.round for run-time values");
  if (c->arg[1].kind != V_UNSET && c->arg[1].kind != V_NONE) {
    if (v_is_int(v)) return v;
    int64_t digits = arg_int(ev, c, 1, 0);
    double scale = pow(10, fmax(-300, fmin(300, (double)digits)));
    return v_float(nearbyint(v.f * scale) / scale);
  }
  if (v_is_int(v)) return v_int(v_as_int(v));
  if (isnan(v.f) || fabs(v.f) >= 9.2e18)
    ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, v), "an int");
  return v_int((int64_t)nearbyint(v.f));
}

Val b_divmod(Ev *ev, Call *c) {
  return v_pair(ev, ev_binary(ev, AST_OP_FLOORDIV, c->arg[0], c->arg[1], c->span),
                ev_binary(ev, AST_OP_MOD, c->arg[0], c->arg[1], c->span));
}

Val b_pow(Ev *ev, Call *c) { return ev_binary(ev, AST_OP_POW, c->arg[0], c->arg[1], c->span); }

static Val based(Ev *ev, Call *c, const char *spec) {
  return ev_format(ev, v_int(arg_int(ev, c, 0, 0)), spec, c->span);
}

Val b_hex(Ev *ev, Call *c) { return based(ev, c, "#x"); }
Val b_bin(Ev *ev, Call *c) { return based(ev, c, "#b"); }

Val b_ord(Ev *ev, Call *c) {
  const char *s = arg_str(ev, c, 0, "");
  if (strlen(s) != 1 || (unsigned char)*s > 127)
    ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, c->arg[0]), "a character code");
  return v_int(*s);
}

Val b_chr(Ev *ev, Call *c) {
  int64_t i = arg_int(ev, c, 0, 0);
  if (i < 0 || i > 127)
    ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, c->arg[0]), "an ASCII character");
  char ch = (char)i;
  return v_strn(ev, &ch, 1);
}
