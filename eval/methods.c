// Methods and attributes of compile-time values.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include "eval/handlers.h"

#include <math.h>
#include <string.h>

static const struct {
  ValKind kind;
  Builtin fn;
} methods[] = {
#define METHOD(kind, name, fn, signature, meaning) {kind, {"", name, fn, PURE, signature, meaning}},
#include "eval/methods.def"
#undef METHOD
};

Val method_attr(Ev *ev, Val v, const char *name, Span at) {
  for (size_t i = 0; i < LEN(methods); i++) {
    if (methods[i].kind == v.kind && !strcmp(methods[i].fn.name, name))
      return v_method(ev, &methods[i].fn, v);
  }
  return (Val){.kind = V_UNSET};
}

const char *method_near(Ev *ev, Val v, const char *name) {
  VEC(const char *) names = {0};
  for (size_t i = 0; i < LEN(methods); i++)
    if (methods[i].kind == v.kind) vec_push(ev->arena, &names, methods[i].fn.name);
  vec_push(ev->arena, &names, NULL);
  return near_name(name, names.data);
}

/* ------------------------------------------------------------------ attributes */

static Val shape_tuple(Ev *ev, int n, Expr **shape) {
  Val t = v_seq(ev, V_TUPLE, n);
  for (int i = 0; i < n; i++) {
    int64_t c;
    v_push(ev, t.seq, ex_const(shape[i], &c) ? v_int(c) : v_expr(shape[i], 8));
  }
  return t;
}

static Val row_major(Ev *ev, const Buffer *b) {
  Expr **s = NEWN(ev->arena, Expr *, b->ndim);
  Expr *acc = ex_index(ev->arena, 1);
  for (int i = b->ndim - 1; i >= 0; i--) {
    s[i] = acc;
    acc = ex_mul(ev->arena, b->shape[i], acc);
  }
  return shape_tuple(ev, b->ndim, s);
}

static Val buffer_attr(Ev *ev, Val v, const char *name) {
  Buffer *b = v.buf;
  if (!strcmp(name, "shape")) return shape_tuple(ev, b->ndim, b->shape);
  if (!strcmp(name, "dtype")) return v_dtype(b->dtype);
  if (!strcmp(name, "ndim")) return v_int(b->ndim);
  if (!strcmp(name, "name")) return v_str(ev, b->name ? b->name : "");
  if (!strcmp(name, "data")) return v;
  if (!strcmp(name, "strides"))
    return b->strides ? shape_tuple(ev, b->ndim, b->strides) : row_major(ev, b);
  return (Val){.kind = V_UNSET};
}

static Val dtype_attr(Ev *ev, DType t, const char *name) {
  if (!strcmp(name, "bits")) return v_int(dt_bits(t));
  if (!strcmp(name, "bytes") || !strcmp(name, "itemsize")) return v_int((dt_bits(t) + 7) / 8);
  if (!strcmp(name, "lanes")) return v_int(1);
  if (!strcmp(name, "name")) return v_str(ev, dt_name(t));
  return (Val){.kind = V_UNSET};
}

// torch.float16 and np.float16 are dtypes; whatever else they hold stays unknown.
static Val opaque_attr(Ev *ev, Val v, const char *name) {
  const char *what = v.opaque->what;
  DType t;
  if (v.opaque->shape) return torch_attr(ev, v, name);
  if ((!strcmp(what, "torch") || !strcmp(what, "numpy")) && dt_find(name, &t)) return v_dtype(t);
  const Builtin *known = !strcmp(what, "torch.cuda") ? lib_find(what, name) : NULL;
  if (known) return (Val){.kind = V_BUILTIN, .builtin = known};
  if (!strcmp(what, "torch.version") && !strcmp(name, "hip")) return v_none();
  return v_opaque(ev, "%s.%s", what, name);
}

static const char *near_attribute(Ev *ev, Val v, const char *name) {
  static const char *const of_buffer[] = {"shape", "dtype", "scope", "ndim", "strides", NULL};
  static const char *const of_dtype[] = {"bits", "bytes", "itemsize", "name", NULL};
  if (v.kind == V_BUFFER) return near_name(name, of_buffer);
  if (v.kind == V_DTYPE) return near_name(name, of_dtype);
  return method_near(ev, v, name);
}

Val ev_attr(Ev *ev, Val v, const char *name, Span at) {
  Val r = {.kind = V_UNSET};
  switch (v.kind) {
  case V_ERROR: return v;
  case V_OPAQUE: return opaque_attr(ev, v, name);
  case V_MISSING:
    if (!strcmp(name, "shape")) ev_undeclared(ev, v, at);
    return v;
  case V_MODULE: return mod_attr(ev, v.module, name, at);
  case V_BUFFER: r = buffer_attr(ev, v, name); break;
  case V_DTYPE: r = dtype_attr(ev, v.dtype, name); break;
  case V_REGION:
    r = buffer_attr(ev, v_buffer(v.region->buf), !strcmp(name, "dtype") ? name : "");
    break;
  case V_EXPR:
    if (!strcmp(name, "dtype")) r = v_dtype(v.expr->type == DT_INDEX ? DT_I32 : v.expr->type);
    break;
  case V_FUNC:
  case V_BUILTIN:
  case V_METHOD:
  case V_EXC:
    if (!strcmp(name, "__name__") && v.kind == V_FUNC) return v_str(ev, v.fn->name);
    r = method_attr(ev, v, name, at);
    if (r.kind != V_UNSET) return r;
    return v_opaque(ev, "%s.%s", v_brief(ev, v), name);
  case V_CLASS:
  case V_OBJECT: r = obj_attr(ev, v, name, at); break;
  case V_TUNER:
  case V_PARSER:
    r = method_attr(ev, v, name, at);
    return r.kind != V_UNSET ? r : v_opaque(ev, "%s of %s", name, v_kind(ev, v));
  default: break;
  }
  if (r.kind == V_UNSET) r = method_attr(ev, v, name, at);
  if (r.kind == V_UNSET && v.kind == V_DTYPE) // in TileLang a dtype is a str, too
    r = method_attr(ev, v_str(ev, dt_name(v.dtype)), name, at);
  if (r.kind == V_UNSET && v.kind == V_BUFFER && !strcmp(name, "data"))
    ev_fail(ev, DIAG_UNSUPPORTED, at, "the pointer .data of a buffer");
  if (r.kind == V_UNSET)
    ev_fail(ev, DIAG_ATTRIBUTE, ev_tail(ev, at, name), v_kind(ev, v), name,
            ev_meant(ev, ev_tail(ev, at, name), near_attribute(ev, v, name), "."));
  return r;
}

/* ------------------------------------------------------------------ lists and tuples */

static Seq *changing(Ev *ev, Call *c) {
  rt_mutate(ev, c->self.seq->born, c->span);
  return c->self.seq;
}

Val l_append(Ev *ev, Call *c) {
  v_push(ev, changing(ev, c), c->arg[0]);
  return v_none();
}

Val l_extend(Ev *ev, Call *c) {
  Seq *more = ev_items(ev, c->arg[0], c->at[0]), *s = changing(ev, c);
  for (int i = 0; i < more->len; i++) v_push(ev, s, more->data[i]);
  return v_none();
}

Val l_insert(Ev *ev, Call *c) {
  Seq *s = changing(ev, c);
  int64_t i = arg_int(ev, c, 0, 0);
  if (i < 0) i += s->len;
  i = i < 0 ? 0 : i > s->len ? s->len : i;
  v_push(ev, s, c->arg[1]);
  memmove(&s->data[i + 1], &s->data[i], sizeof(Val) * (size_t)(s->len - 1 - i));
  s->data[i] = c->arg[1];
  return v_none();
}

static void remove_at(Seq *s, int64_t i) {
  memmove(&s->data[i], &s->data[i + 1], sizeof(Val) * (size_t)(s->len - 1 - i));
  s->len--;
}

Val l_pop(Ev *ev, Call *c) {
  Seq *s = changing(ev, c);
  int64_t i = arg_int(ev, c, 0, -1), at = i < 0 ? i + s->len : i;
  if (at < 0 || at >= s->len)
    ev_fail(ev, DIAG_INDEX, c->span, (long long)i, "a list", (long long)s->len);
  Val v = s->data[at];
  remove_at(s, at);
  return v;
}

static int position(Ev *ev, Call *c) {
  for (int i = 0; i < c->self.seq->len; i++) {
    if (v_equal(ev, c->self.seq->data[i], c->arg[0])) return i;
  }
  ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, c->arg[0]), "an item of the list");
}

Val l_remove(Ev *ev, Call *c) {
  remove_at(changing(ev, c), position(ev, c));
  return v_none();
}

Val l_clear(Ev *ev, Call *c) {
  changing(ev, c)->len = 0;
  return v_none();
}

Val l_reverse(Ev *ev, Call *c) {
  Seq *s = changing(ev, c);
  for (int i = 0; i < s->len / 2; i++) {
    Val t = s->data[i];
    s->data[i] = s->data[s->len - 1 - i];
    s->data[s->len - 1 - i] = t;
  }
  return v_none();
}

Val l_sort(Ev *ev, Call *c) {
  Seq *s = changing(ev, c);
  Call inner = {.span = c->span, .rest = c->rest};
  inner.arg[0] = c->self;
  inner.arg[1] = c->arg[0];
  inner.arg[2] = c->arg[1];
  inner.fn = c->fn;
  Val sorted = b_sorted(ev, &inner);
  if (!ev_unknown(sorted) && sorted.seq->len == s->len)
    memcpy(s->data, sorted.seq->data, sizeof(Val) * (size_t)s->len);
  return v_none();
}

Val l_copy(Ev *ev, Call *c) {
  return (Val){.kind = V_LIST, .seq = ev_items(ev, c->self, c->span)};
}

Val l_index(Ev *ev, Call *c) { return v_int(position(ev, c)); }

Val l_count(Ev *ev, Call *c) {
  int n = 0;
  for (int i = 0; i < c->self.seq->len; i++) n += v_equal(ev, c->self.seq->data[i], c->arg[0]);
  return v_int(n);
}

/* ------------------------------------------------------------------ dicts and sets */

Val d_keys(Ev *ev, Call *c) { return (Val){.kind = V_LIST, .seq = ev_items(ev, c->self, c->span)}; }

static Val entries(Ev *ev, Dict *d, bool pairs) {
  Val out = v_seq(ev, V_LIST, d->live);
  for (int i = 0; i < d->entries.len; i++) {
    const DictEntry *e = &d->entries.data[i];
    if (!e->dead) v_push(ev, out.seq, pairs ? v_pair(ev, e->key, e->value) : e->value);
  }
  return out;
}

Val d_values(Ev *ev, Call *c) { return entries(ev, c->self.dict, false); }
Val d_items(Ev *ev, Call *c) { return entries(ev, c->self.dict, true); }

static Val or_none(Val v) { return v.kind == V_UNSET ? v_none() : v; }

Val d_get(Ev *ev, Call *c) {
  const Val *v = dict_get(ev, c->self.dict, c->arg[0], c->at[0]);
  return v ? *v : or_none(c->arg[1]);
}

Val d_pop(Ev *ev, Call *c) {
  rt_mutate(ev, c->self.dict->born, c->span);
  const Val *v = dict_get(ev, c->self.dict, c->arg[0], c->at[0]);
  if (!v && c->arg[1].kind == V_UNSET) ev_no_key(ev, c->self.dict, c->arg[0], c->at[0]);
  Val out = v ? *v : c->arg[1];
  (void)dict_del(ev, c->self.dict, c->arg[0], c->at[0]);
  return out;
}

Val d_setdefault(Ev *ev, Call *c) {
  const Val *v = dict_get(ev, c->self.dict, c->arg[0], c->at[0]);
  if (v) return *v;
  rt_mutate(ev, c->self.dict->born, c->span);
  dict_set(ev, c->self.dict, c->arg[0], or_none(c->arg[1]), c->at[0]);
  return or_none(c->arg[1]);
}

Val d_update(Ev *ev, Call *c) {
  rt_mutate(ev, c->self.dict->born, c->span);
  Val more = b_dict(ev, c);
  if (more.kind != V_DICT) return more;
  for (int i = 0; i < more.dict->entries.len; i++) {
    const DictEntry *e = &more.dict->entries.data[i];
    dict_set(ev, c->self.dict, e->key, e->value, c->span);
  }
  return v_none();
}

Val d_copy(Ev *ev, Call *c) {
  return ev_binary(ev, AST_OP_BITOR, c->self, v_dict(ev, c->self.kind), c->span);
}

Val d_clear(Ev *ev, Call *c) {
  rt_mutate(ev, c->self.dict->born, c->span);
  Val empty = v_dict(ev, V_DICT);
  empty.dict->born = c->self.dict->born;
  *c->self.dict = *empty.dict;
  return v_none();
}

Val set_add(Ev *ev, Call *c) {
  rt_mutate(ev, c->self.dict->born, c->span);
  dict_set(ev, c->self.dict, c->arg[0], v_none(), c->at[0]);
  return v_none();
}

Val set_discard(Ev *ev, Call *c) {
  rt_mutate(ev, c->self.dict->born, c->span);
  (void)dict_del(ev, c->self.dict, c->arg[0], c->at[0]);
  return v_none();
}

/* ------------------------------------------------------------------ dtypes and numbers */

Val dt_torch(Ev *ev, Call *c) { return c->self; }

Val x_astype(Ev *ev, Call *c) {
  DType t = arg_dtype(ev, c, 0, DT_F32);
  Expr *x = dev_like(ev, c->self, t, c->span);
  return dev_wrap(ev, ex_cast(ev->arena, t, x), c->span, c->self, v_none(), v_none());
}

Val i_bit_length(Ev *ev, Call *c) {
  uint64_t m = c->self.i < 0 ? -(uint64_t)c->self.i : (uint64_t)c->self.i;
  int n = 0;
  while (m >> n && n < 64) n++;
  return v_int(n);
}

Val f_is_integer(Ev *ev, Call *c) {
  return v_bool(c->self.f == floor(c->self.f) && isfinite(c->self.f));
}

Val buf_scope(Ev *ev, Call *c) {
  static const char *const names[] = {"global", "shared.dyn", "local.fragment", "local"};
  return v_str(ev, names[c->self.buf->scope]);
}
