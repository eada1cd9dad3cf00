// Host code's unknown values, as far as kernels' parameters hang on them: shapes of tensors.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include <string.h>

static bool is_one_of(const char *name, const char *const *names) {
  for (; *names; names++) {
    if (!strcmp(name, *names)) return true;
  }
  return false;
}

static const char *last_part(const char *what) {
  const char *dot = strrchr(what, '.');
  return dot ? dot + 1 : what;
}

static Val with_shape(Ev *ev, Val v, const Seq *shape) {
  Opaque *o = arena_copy(ev->arena, v.opaque, sizeof *v.opaque);
  o->shape = shape;
  return (Val){.kind = V_OPAQUE, .opaque = o};
}

// The sizes in f(2, 3), f((2, 3)) and f(size=(2, 3)).
static const Seq *sizes(Ev *ev, const Call *c, int from) {
  for (int k = 0; k < c->kw.len; k++) {
    if (!strcmp(c->kw.data[k].name, "size") && v_is_seq(c->kw.data[k].v))
      return c->kw.data[k].v.seq;
  }
  for (int i = from; i < c->pos.len; i++) {
    if (v_is_seq(c->pos.data[i])) return c->pos.data[i].seq;
  }
  Val s = v_seq(ev, V_TUPLE, c->pos.len);
  for (int i = from; i < c->pos.len; i++) v_push(ev, s.seq, c->pos.data[i]);
  return s.seq;
}

static const Seq *nested_sizes(Ev *ev, Val v) {
  Val s = v_seq(ev, V_TUPLE, 2);
  while (v_is_seq(v) && v.seq->len && s.seq->len < 8) {
    v_push(ev, s.seq, v_int(v.seq->len));
    v = v.seq->data[0];
  }
  return s.seq;
}

static const char *const by_size[] = {"randn", "rand", "empty", "zeros", "ones", "full", NULL};
static const char *const by_count[] = {"arange", "randperm", NULL};
static const char *const like[] = {"randn_like", "rand_like", "empty_like",   "zeros_like",
                                   "ones_like",  "full_like", "randint_like", NULL};
static const char *const others[] = {"randint", "tensor", NULL};

static const Seq *created(Ev *ev, const char *name, const Call *c) {
  if (is_one_of(name, by_size)) return sizes(ev, c, 0);
  if (!strcmp(name, "randint")) return sizes(ev, c, 1);
  if (!c->pos.len) return NULL;
  if (is_one_of(name, like) && c->pos.data[0].kind == V_OPAQUE) return c->pos.data[0].opaque->shape;
  if (!strcmp(name, "tensor")) return nested_sizes(ev, c->pos.data[0]);
  return is_one_of(name, by_count) && c->pos.len == 1 ? sizes(ev, c, 0) : NULL;
}

bool torch_shapes(Val fn) {
  if (fn.opaque->shape) return true;
  const char *name = last_part(fn.opaque->what);
  return !strncmp(fn.opaque->what, "torch.", 6) &&
         (is_one_of(name, by_size) || is_one_of(name, by_count) || is_one_of(name, like) ||
          is_one_of(name, others));
}

// -1 in a reshape is what is left over.
static const Seq *reshaped(Ev *ev, const Seq *old, const Seq *to) {
  int64_t total = 1, known = 1;
  for (int i = 0; i < old->len; i++) {
    if (!v_is_int(old->data[i])) return NULL;
    total *= v_as_int(old->data[i]) & 0xffffffff;
  }
  Val s = v_seq(ev, V_TUPLE, to->len);
  int open = -1;
  for (int i = 0; i < to->len; i++) {
    if (!v_is_int(to->data[i])) return NULL;
    if (v_as_int(to->data[i]) < 0) open = i;
    else known *= v_as_int(to->data[i]) & 0xffffffff;
    v_push(ev, s.seq, to->data[i]);
  }
  if (open >= 0) s.seq->data[open] = v_int(known > 0 ? total / known : 0);
  return s.seq;
}

static const Seq *permuted(Ev *ev, const Seq *old, const Seq *by) {
  Val s = v_seq(ev, V_TUPLE, old->len);
  if (by->len != old->len) return NULL;
  for (int i = 0; i < by->len; i++) {
    int64_t k = v_is_int(by->data[i]) ? v_as_int(by->data[i]) : -1;
    if (k < 0 || k >= old->len) return NULL;
    v_push(ev, s.seq, old->data[k]);
  }
  return s.seq;
}

static const Seq *swapped(Ev *ev, const Seq *old, const Call *c) {
  Val s = v_seq(ev, V_TUPLE, old->len);
  int64_t at[2] = {0, 1};
  for (int i = 0; i < 2 && c->pos.len == 2; i++) {
    at[i] = v_is_int(c->pos.data[i]) ? v_as_int(c->pos.data[i]) : 0;
    if (at[i] < 0) at[i] += old->len;
  }
  for (int i = 0; i < old->len; i++) v_push(ev, s.seq, old->data[i]);
  if (at[0] < 0 || at[1] < 0 || at[0] >= old->len || at[1] >= old->len) return NULL;
  s.seq->data[at[0]] = old->data[at[1]];
  s.seq->data[at[1]] = old->data[at[0]];
  return s.seq;
}

static const Seq *of_method(Ev *ev, const char *name, const Seq *self, const Call *c) {
  static const char *const same[] = {
      "cuda",    "to",       "half",           "float",   "bfloat16", "contiguous",
      "clone",   "detach",   "type",           "int",     "long",     "abs",
      "normal_", "uniform_", "zero_",          "fill_",   "cpu",      "bool",
      "double",  "random_",  "requires_grad_", "softmax", "exp",      "clamp",
      "sigmoid", "mul_",     "div_",           "add_",    "mul",      "add",
      "div",     "sub",      "byte",           "char",    "short",    NULL};
  if (is_one_of(name, same)) return self;
  if (!strcmp(name, "view") || !strcmp(name, "reshape")) return reshaped(ev, self, sizes(ev, c, 0));
  if (!strcmp(name, "permute")) return permuted(ev, self, sizes(ev, c, 0));
  if (!strcmp(name, "transpose") || !strcmp(name, "t")) return swapped(ev, self, c);
  return NULL;
}

Val torch_call(Ev *ev, Val fn, const Call *c) {
  const char *what = fn.opaque->what, *name = last_part(what);
  Val r = v_opaque(ev, "%s()", what);
  if (fn.opaque->shape) {
    if (!strcmp(name, "size")) {
      Val all = {.kind = V_TUPLE, .seq = (Seq *)fn.opaque->shape};
      return c->pos.len ? ev_getitem(ev, all, c->pos.data[0], c->span) : all;
    }
    return with_shape(ev, r, of_method(ev, name, fn.opaque->shape, c));
  }
  return !strncmp(what, "torch.", 6) ? with_shape(ev, r, created(ev, name, c)) : r;
}

Val torch_attr(Ev *ev, Val v, const char *name) {
  const Seq *shape = v.opaque->shape;
  if (!strcmp(name, "shape")) return (Val){.kind = V_TUPLE, .seq = (Seq *)shape};
  if (!strcmp(name, "ndim")) return v_int(shape->len);
  Val r = v_opaque(ev, "%s.%s", v.opaque->what, name);
  if (!strcmp(name, "T")) {
    Call none = {0};
    shape = swapped(ev, shape, &none);
  }
  return with_shape(ev, r, shape);
}
