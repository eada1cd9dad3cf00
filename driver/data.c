// Argument data of one run.
// SPDX-License-Identifier: MIT
#include "driver/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

RtType data_type(DType t) {
  RtType r;
  if (!rt_type_find(dt_name(t), &r)) die("no runtime type for %s", dt_name(t));
  return r;
}

bool data_is_output(const Program *p, int i) {
  const Param *param = &p->params.data[i];
  return param->kind == PARAM_TENSOR && param->role != ROLE_IN;
}

typedef struct {
  const RunData *data;
  Arena *arena;
} Known;

static Expr *known_value(void *ctx, Var *v) {
  const Known *k = ctx;
  const Program *p = k->data->program;
  for (int i = 0; i < p->sizes.len; i++)
    if (p->sizes.data[i] == v) return ex_int(k->arena, v->type, k->data->sizes[i]);
  for (int i = 0; i < p->params.len; i++) {
    if (p->params.data[i].var != v) continue;
    return dt_is_float(v->type) ? ex_float(k->arena, v->type, k->data->scalar_f[i])
                                : ex_int(k->arena, v->type, k->data->scalar_i[i]);
  }
  return NULL;
}

// False where x has no value: a division by zero.
static bool value_of(const RunData *d, Expr *x, int64_t *out) {
  Known k = {d, arena_new()};
  bool ok = ex_const(ex_replace(k.arena, x, known_value, &k), out);
  arena_free(k.arena);
  return ok;
}

int64_t data_index(const RunData *d, Expr *x) {
  int64_t v;
  return value_of(d, x, &v) ? v : 0;
}

static const char *pair_value(const PairVec *v, const char *key) {
  for (int i = 0; i < v->len; i++)
    if (!strcmp(v->data[i].key, key)) return v->data[i].value;
  return NULL;
}

static bool parse_int(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(text, &end, 0);
  return !errno && end != text && !*end;
}

// A name given to --in, --out or --expect must be a tensor of the kernel; only one that it writes
// can be compared.
static int check_names(const Program *p, const PairVec *v, const char *option, bool written) {
  for (int i = 0; i < v->len; i++) {
    const char *names[64] = {0};
    Buf all = {0};
    bool found = false;
    for (int k = 0, n = 0; k < p->params.len; k++) {
      if (written ? !data_is_output(p, k) : p->params.data[k].kind != PARAM_TENSOR) continue;
      found |= !strcmp(p->params.data[k].name, v->data[i].key);
      if (n < 63) names[n++] = p->params.data[k].name;
      buf_printf(&all, "%s%s", all.len ? ", " : "", p->params.data[k].name);
    }
    if (!found) {
      const char *near = near_name(v->data[i].key, names);
      fprintf(stderr, "tlc: %s: '%s' is no tensor %s %s: %s%s%s%s\n", option, v->data[i].key,
              written ? "written by" : "of", p->symbol, all.len ? buf_str(&all) : "it has none",
              near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    buf_free(&all);
    if (!found) return EXIT_USAGE;
  }
  return EXIT_OK;
}

// Takes a symbolic size from the shape of an input file where a dimension is that size alone.
static bool size_from_files(const RunData *d, const Options *o, const Var *size, int64_t *out) {
  const Program *p = d->program;
  for (int i = 0; i < p->params.len; i++) {
    const Param *param = &p->params.data[i];
    const char *path = param->kind == PARAM_TENSOR ? pair_value(&o->in, param->name) : NULL;
    if (!path) continue;
    RtArray array;
    Buf err = {0};
    RtStatus s = rt_npy_read(o->arena, path, &array, &err);
    buf_free(&err);
    for (int k = 0; s == RT_OK && k < param->buf->ndim && k < array.rank; k++) {
      const Expr *e = param->buf->shape[k];
      if (e->kind == EX_VAR && e->u.var == size) return *out = array.shape[k], true;
    }
  }
  return false;
}

static int make_sizes(RunData *d, const Options *o) {
  const Program *p = d->program;
  Buf missing = {0};
  int status = EXIT_OK;
  d->sizes = NEWN(o->arena, int64_t, p->sizes.len + 1);
  for (int i = 0; i < p->sizes.len; i++) {
    const Var *v = p->sizes.data[i];
    const char *text = map_get(o->bindings, v->name);
    if (text && (!parse_int(text, &d->sizes[i]) || d->sizes[i] < 0 || d->sizes[i] > INT32_MAX)) {
      fprintf(stderr, "tlc: -p %s=%s: a size is a whole number from 0 to 2147483647\n", v->name,
              text);
      status = EXIT_USAGE;
    } else if (!text && !size_from_files(d, o, v, &d->sizes[i])) {
      buf_printf(&missing, "%s%s=VALUE", missing.len ? "," : "", v->name);
    }
  }
  if (missing.len) {
    fprintf(stderr, "tlc: running %s needs run-time sizes: give -p %s\n", p->symbol, missing.data);
    status = EXIT_USAGE;
  }
  buf_free(&missing);
  return status;
}

// Does an integer of type t hold v?
static bool fits(DType t, int64_t v) {
  int bits = t == DT_BOOL ? 1 : dt_bits(t);
  if (bits >= 64) return v >= 0 || dt_is_signed(t);
  if (dt_is_signed(t)) return v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1);
  return v >= 0 && v < (int64_t)1 << bits;
}

static int make_scalar(RunData *d, const Options *o, int i) {
  const Param *p = &d->program->params.data[i];
  const char *text = map_get(o->bindings, p->name);
  char *end = NULL;
  bool ok = text != NULL;
  const char *type = dt_name(p->var->type);
  if (ok && dt_is_float(p->var->type))
    ok = (d->scalar_f[i] = strtod(text, &end), end != text && !*end);
  else if (ok && !strcmp(text, "True")) d->scalar_i[i] = 1;
  else if (ok && !strcmp(text, "False")) d->scalar_i[i] = 0;
  else if (ok) ok = parse_int(text, &d->scalar_i[i]) && fits(p->var->type, d->scalar_i[i]);
  if (ok) return EXIT_OK;
  if (text) fprintf(stderr, "tlc: -p %s=%s: %s is no %s\n", p->name, text, text, type);
  else
    fprintf(stderr, "tlc: running %s needs a value for %s (%s): give -p %s=VALUE\n",
            d->program->symbol, p->name, type, p->name);
  return EXIT_USAGE;
}

// Elements between the first and one past the last: strided tensors keep their gaps.
static int64_t span_elements(const RunData *d, const Buffer *b) {
  int64_t last = 0, n = 1;
  for (int k = 0; k < b->ndim; k++) {
    int64_t extent = data_index(d, b->shape[k]);
    if (extent <= 0) return 0;
    n *= extent;
    if (b->strides) last += (extent - 1) * data_index(d, b->strides[k]);
  }
  return b->strides ? last + 1 : n;
}

static void move_element(RtType t, void *to, int64_t at, const void *from, int64_t of) {
  size_t bytes = (size_t)rt_type_bits(t) / 8;
  if (!bytes) rt_set(t, to, at, rt_get(t, from, of));
  else memcpy((char *)to + at * (int64_t)bytes, (const char *)from + of * (int64_t)bytes, bytes);
}

// Between a tensor where its strides put it and the row-major form that files have.
static void move_rows(const RunData *d, int i, void *to, const void *from, bool gather) {
  Expr **strides = d->program->params.data[i].buf->strides;
  const RtArray *a = &d->array[i];
  int64_t index[RT_MAX_RANK] = {0}, stride[RT_MAX_RANK], at = 0;
  for (int k = 0; k < a->rank; k++) stride[k] = data_index(d, strides[k]);
  for (int64_t n = rt_count(a), row = 0; row < n; row++) {
    move_element(a->type, to, gather ? row : at, from, gather ? at : row);
    for (int k = a->rank - 1; k >= 0; k--) {
      at += stride[k];
      if (++index[k] < a->shape[k]) break;
      at -= stride[k] * index[k];
      index[k] = 0;
    }
  }
}

void *data_rows(const RunData *d, Arena *a, int i, const void *at) {
  if (!d->program->params.data[i].buf->strides) return (void *)at;
  void *rows = arena_alloc(a, rt_type_bytes(d->array[i].type, rt_count(&d->array[i])) + 16);
  move_rows(d, i, rows, at, true);
  return rows;
}

static RtStatus load_tensor(RunData *d, const Options *o, int i, const char *path, Buf *err) {
  const Param *p = &d->program->params.data[i];
  RtArray *a = &d->array[i], rows = *a;
  if (!p->buf->strides) return rt_npy_load(path, p->name, a, err);
  rows.data = arena_alloc(o->arena, rt_type_bytes(a->type, rt_count(a)) + 16);
  RtStatus s = rt_npy_load(path, p->name, &rows, err);
  if (s != RT_OK) return s;
  rt_fill(a->data, a->type, span_elements(d, p->buf), RT_ZEROS, o->seed, (uint64_t)i);
  move_rows(d, i, a->data, rows.data, false);
  return s;
}

static int fill_tensor(RunData *d, const Options *o, int i) {
  const Param *p = &d->program->params.data[i];
  RtArray *a = &d->array[i];
  const char *path = pair_value(&o->in, p->name);
  if (path) {
    Buf err = {0};
    RtStatus s = load_tensor(d, o, i, path, &err);
    if (s != RT_OK) fprintf(stderr, "tlc: %s\n", buf_str(&err));
    buf_free(&err);
    return s == RT_OK ? EXIT_OK : EXIT_USAGE;
  }
  // Bytes of a timed product are to be as random as its speed is to be true; wider integers are
  // indices or lengths.
  bool bits = o->mode == MODE_BENCH && rt_type_bits(a->type) <= 8 && !rt_type_is_float(a->type);
  bool zeroed = d->zeroed[i] && !p->buf->strides; // what lies between rows may stay as it is
  RtFill how = p->role == ROLE_OUT || zeroed ? RT_POISON
               : p->role == ROLE_INOUT       ? RT_ZEROS
               : o->integers                 ? RT_INTEGERS
               : bits                        ? RT_BITS
                                             : RT_NORMAL;
  int64_t count = a->rank < 0 ? 0 : rt_count(a);
  if (p->buf->strides) count = span_elements(d, p->buf);
  rt_fill(a->data, a->type, count, how, o->seed, (uint64_t)i);
  return EXIT_OK;
}

static int make_tensor(RunData *d, const Options *o, int i) {
  const Buffer *b = d->program->params.data[i].buf;
  RtArray *a = &d->array[i];
  *a = (RtArray){.type = data_type(b->dtype), .rank = b->ndim};
  for (int k = 0; k < b->ndim; k++) a->shape[k] = data_index(d, b->shape[k]);
  int64_t count = span_elements(d, b);
  if (count < 0 || count > (int64_t)1 << 40) {
    fprintf(stderr, "tlc: %s would hold %lld elements\n", b->name, (long long)count);
    return EXIT_USAGE;
  }
  d->bytes[i] = rt_type_bytes(a->type, count);
  a->data = arena_alloc(o->arena, d->bytes[i] + 16);
  return fill_tensor(d, o, i);
}

// The device allocates it: only whether that is reasonable.
static int check_workspace(const RunData *d, const Buffer *b) {
  double elements = 1;
  for (int k = 0; k < b->ndim; k++) elements *= (double)data_index(d, b->shape[k]);
  if (elements <= (double)((int64_t)1 << 40)) return EXIT_OK;
  fprintf(stderr, "tlc: workspace %s would hold %.0f elements\n", b->name, elements);
  return EXIT_USAGE;
}

int data_make(RunData *d, const Program *p, const Options *o) {
  int n = p->params.len;
  *d = (RunData){.program = p};
  d->scalar_i = NEWN(o->arena, int64_t, n + 1);
  d->scalar_f = NEWN(o->arena, double, n + 1);
  d->array = NEWN(o->arena, RtArray, n + 1);
  d->bytes = NEWN(o->arena, size_t, n + 1);
  d->zeroed = NEWN(o->arena, bool, n + 1);
  for (int i = 0; i < n * o->zero.len; i++)
    d->zeroed[i % n] |= !strcmp(p->params.data[i % n].name, o->zero.data[i / n]);
  int status = check_names(p, &o->in, "--in", false);
  if (!status) status = check_names(p, &o->out, "--out", false);
  if (!status) status = check_names(p, &o->expect, "--expect", true);
  if (!status) status = make_sizes(d, o);
  for (int i = 0; i < n && !status; i++)
    if (p->params.data[i].kind == PARAM_SCALAR) status = make_scalar(d, o, i);
  for (int i = 0; i < n && !status; i++)
    if (p->params.data[i].kind == PARAM_TENSOR) status = make_tensor(d, o, i);
  for (int i = 0; i < p->workspaces.len && !status; i++)
    status = check_workspace(d, p->workspaces.data[i]);
  return status;
}

EmuArg *data_args(const RunData *d, Arena *a, bool bounds) {
  const Program *p = d->program;
  EmuArg *args = NEWN(a, EmuArg, p->params.len + 1);
  for (int i = 0; i < p->params.len; i++) {
    args[i].i = d->scalar_i[i];
    args[i].f = d->scalar_f[i];
    if (p->params.data[i].kind != PARAM_TENSOR) continue;
    args[i].bytes = d->bytes[i];
    args[i].data = d->array[i].data;
    if (bounds && !data_is_output(p, i)) continue; // the oracle writes nothing else
    args[i].data = arena_alloc(a, d->bytes[i] + 16);
    if (d->zeroed[i] && (bounds || !d->zero_kernels)) memset(args[i].data, 0, d->bytes[i]);
    else memcpy(args[i].data, d->array[i].data, d->bytes[i]);
    if (!data_is_output(p, i)) continue;
    size_t count = (size_t)span_elements(d, p->params.data[i].buf);
    args[i].written = arena_alloc(a, count + 1);
    if (bounds && rt_type_is_float(d->array[i].type)) args[i].bound = NEWN(a, float, count + 1);
  }
  return args;
}

// "m=100, n=7": what this run gives the variables of a condition.
static void print_given(const RunData *d, const Expr *cond, Buf *out) {
  const Program *p = d->program;
  for (int i = 0; i < p->sizes.len + p->params.len; i++) {
    int k = i - p->sizes.len;
    const Var *v = k < 0 ? p->sizes.data[i] : p->params.data[k].var;
    if (!v || !ex_uses(cond, v)) continue;
    buf_printf(out, "%s%s=", out->len ? ", " : "", v->name);
    if (k >= 0 && dt_is_float(v->type)) buf_printf(out, "%g", d->scalar_f[k]);
    else buf_printf(out, "%lld", (long long)(k < 0 ? d->sizes[i] : d->scalar_i[k]));
  }
}

bool data_check(const RunData *d, const Program *lowered, Diags *diags) {
  RunData own = *d;
  own.program = lowered;
  bool ok = true;
  for (int i = 0; i < lowered->facts.len; i++) {
    const Fact *f = &lowered->facts.data[i];
    int64_t holds;
    if (f->on_device || !value_of(&own, f->cond, &holds) || holds) continue;
    Buf cond = {0}, given = {0};
    ir_print_expr(f->cond, &cond);
    print_given(&own, f->cond, &given);
    diag_report(diags, DIAG_RUN_FACT, f->span, buf_str(&cond), buf_str(&given),
                f->why ? f->why : "T.assume");
    buf_free(&cond);
    buf_free(&given);
    ok = false;
  }
  return ok;
}
