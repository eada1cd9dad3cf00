// The reference program that is declared beside a space (`ref_prog`), on the CPU: tensor
// expressions such as (a.float() @ b.float().T).to(a.dtype), of which single elements are
// evaluated. Every operation rounds to the type that torch gives its result.
// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parser/ast.h"
#include "tuner/runner.h"

enum { MOST_RANK = 4, MOST_ELEMENTS = 1 << 22 };
#define MOST_WORK 4e7 // reads of operands, of one output

typedef enum { N_TENSOR, N_NUMBER, N_MATMUL, N_SWAP, N_CAST, N_UNARY, N_BINARY } NodeKind;

typedef struct Node Node;

struct Node {
  NodeKind kind;
  RtType type;
  int rank;
  int64_t shape[MOST_RANK];
  const Node *a, *b;
  int param, dim[2]; // tensors; swapped dimensions
  AstBinaryOp op;
  double number, (*fn)(double);
  double work; // reads that one element takes
};

typedef struct {
  Arena *arena;
  const RunData *data;
  Map *names; // -> Node
  Buf *why;
} Reader;

/* ------------------------------------------------------------------ reading */

static const Node *unknown(Reader *r, const AstExpr *e) {
  if (r->why->len) return NULL;
  buf_puts(r->why, "the reference program uses '");
  ast_print_expr(e, r->why);
  buf_puts(r->why, "', which tlc does not evaluate");
  return NULL;
}

static const Node *read_node(Reader *r, const AstExpr *e);

static Node *make(Reader *r, NodeKind kind, const Node *like) {
  Node *n = NEW(r->arena, Node);
  if (like) *n = *like;
  n->kind = kind;
  n->a = like;
  return n;
}

static const Node *matmul(Reader *r, const AstExpr *e, const Node *a, const Node *b) {
  if (!a || !b) return NULL;
  if (a->rank < 2 || b->rank != a->rank || a->shape[a->rank - 1] != b->shape[b->rank - 2])
    return unknown(r, e);
  Node *n = make(r, N_MATMUL, a);
  n->b = b;
  n->shape[n->rank - 1] = b->shape[b->rank - 1];
  n->work = (a->work + b->work) * (double)a->shape[a->rank - 1];
  for (int i = 0; i < n->rank - 2; i++)
    if (a->shape[i] != b->shape[i]) return unknown(r, e);
  return n;
}

static const Node *number(Reader *r, double value) {
  Node *n = make(r, N_NUMBER, NULL);
  n->number = value;
  n->type = RT_F64;
  return n;
}

static double calculated(AstBinaryOp op, double a, double b) {
  switch (op) {
  case AST_OP_ADD: return a + b;
  case AST_OP_SUB: return a - b;
  case AST_OP_MUL: return a * b;
  default: return a / b;
  }
}

// torch's type of the result: numbers have none of their own but that they may be no integers.
static RtType promoted(AstBinaryOp op, const Node *a, const Node *b) {
  if (a->kind == N_NUMBER) {
    const Node *other = a;
    a = b;
    b = other;
  }
  bool floats[] = {rt_type_is_float(a->type), rt_type_is_float(b->type)};
  int bits[] = {rt_type_bits(a->type), rt_type_bits(b->type)};
  if (b->kind == N_NUMBER) {
    bool whole = op != AST_OP_DIV && b->number == floor(b->number);
    return floats[0] || whole ? a->type : RT_F32;
  }
  if (floats[0] != floats[1]) return floats[0] ? a->type : b->type;
  if (!floats[0] && op == AST_OP_DIV) return RT_F32;
  if (floats[0] && a->type != b->type && bits[0] == bits[1]) return RT_F32;
  return bits[1] > bits[0] ? b->type : a->type;
}

static const Node *binary(Reader *r, const AstExpr *e) {
  const Node *a = read_node(r, e->binary.left), *b = read_node(r, e->binary.right);
  AstBinaryOp op = e->binary.op;
  if (!a || !b) return NULL;
  if (op == AST_OP_MATMUL) return matmul(r, e, a, b);
  if (op != AST_OP_ADD && op != AST_OP_SUB && op != AST_OP_MUL && op != AST_OP_DIV)
    return unknown(r, e);
  if (a->kind == N_NUMBER && b->kind == N_NUMBER)
    return number(r, calculated(op, a->number, b->number));
  bool b_leads = a->kind == N_NUMBER || b->rank > a->rank;
  const Node *lead = b_leads ? b : a, *other = b_leads ? a : b;
  Node *n = make(r, N_BINARY, lead);
  n->a = a;
  n->b = b;
  n->op = op;
  n->work = a->work + b->work;
  n->type = promoted(op, a, b);
  for (int i = 1; i <= other->rank; i++) { // trailing dimensions are equal, or 1
    int64_t *mine = &n->shape[n->rank - i], its = other->shape[other->rank - i];
    if (*mine != its && *mine != 1 && its != 1) return unknown(r, e);
    if (*mine == 1) *mine = its;
  }
  return n;
}

static bool type_of(Reader *r, const AstExpr *e, RtType *out) {
  if (e->kind == AST_STR) return rt_type_find(e->str.data, out);
  if (e->kind != AST_ATTR) return false;
  const char *name = e->attr.name.text;
  const AstExpr *of = e->attr.value;
  if (!strcmp(name, "dtype")) {
    const Node *n = read_node(r, of);
    if (n) *out = n->type;
    return n != NULL;
  }
  if (!strcmp(name, "float")) return *out = RT_F32, true;
  if (!strcmp(name, "half")) return *out = RT_F16, true;
  return rt_type_find(name, out); // torch.float16, T.float16
}

static const Node *cast(Reader *r, const Node *a, RtType type) {
  Node *n = a ? make(r, N_CAST, a) : NULL;
  if (n) n->type = type;
  return n;
}

static const Node *swap(Reader *r, const AstExpr *e, const Node *a, int i, int k) {
  if (!a) return NULL;
  if (i < 0) i += a->rank;
  if (k < 0) k += a->rank;
  if (a->rank < 2 || i < 0 || k < 0 || i >= a->rank || k >= a->rank) return unknown(r, e);
  Node *n = make(r, N_SWAP, a);
  n->dim[0] = i;
  n->dim[1] = k;
  n->shape[i] = a->shape[k];
  n->shape[k] = a->shape[i];
  return n;
}

// x.T and x.t(): of a matrix; torch turns others around as wholes.
static const Node *transposed(Reader *r, const AstExpr *e, const Node *a) {
  if (a && a->rank != 2) return unknown(r, e);
  return swap(r, e, a, 0, 1);
}

static double relu(double x) { return x > 0 ? x : 0; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double negative(double x) { return -x; }

static const struct {
  const char *name;
  double (*fn)(double);
} functions[] = {{"relu", relu}, {"exp", exp},         {"sqrt", sqrt}, {"abs", fabs},
                 {"tanh", tanh}, {"sigmoid", sigmoid}, {"log", log}};

static const Node *apply(Reader *r, const Node *a, double (*fn)(double)) {
  if (!a) return NULL;
  if (a->kind == N_NUMBER) return number(r, fn(a->number));
  Node *n = make(r, N_UNARY, a);
  bool keeps = fn == negative || fn == relu || fn == fabs; // a type of integers
  n->fn = fn;
  if (!keeps && !rt_type_is_float(a->type)) n->type = RT_F32;
  return n;
}

static const Node *function(Reader *r, const AstExpr *e, const char *name, const Node *a) {
  for (size_t i = 0; i < LEN(functions); i++)
    if (!strcmp(functions[i].name, name)) return apply(r, a, functions[i].fn);
  return unknown(r, e);
}

static bool small_int(const AstExpr *e, int *out) {
  bool minus = e->kind == AST_UNARY && e->unary.op == AST_OP_NEG;
  if (minus) e = e->unary.operand;
  if (e->kind != AST_INT) return false;
  *out = (int)e->num.integer * (minus ? -1 : 1);
  return true;
}

// x.name(args): methods of tensors.
static const Node *method(Reader *r, const AstExpr *e, const char *name, const Node *x) {
  static const struct {
    const char *name;
    RtType type;
  } casts[] = {{"float", RT_F32},
               {"half", RT_F16},
               {"double", RT_F64},
               {"int", RT_I32},
               {"bfloat16", RT_BF16}};
  const AstArgs *args = &e->call.args;
  RtType type;
  int i, k;
  for (size_t c = 0; c < LEN(casts); c++)
    if (!args->len && !strcmp(casts[c].name, name)) return cast(r, x, casts[c].type);
  if (args->len == 1 && (!strcmp(name, "to") || !strcmp(name, "type")))
    return type_of(r, args->data[0].value, &type) ? cast(r, x, type) : unknown(r, e);
  if (!args->len && !strcmp(name, "t")) return transposed(r, e, x);
  if (args->len == 2 && !strcmp(name, "transpose") && small_int(args->data[0].value, &i) &&
      small_int(args->data[1].value, &k))
    return swap(r, e, x, i, k);
  if (args->len == 1 && (!strcmp(name, "matmul") || !strcmp(name, "mm")))
    return matmul(r, e, x, read_node(r, args->data[0].value));
  if (args->len) return unknown(r, e);
  if (!strcmp(name, "contiguous") || !strcmp(name, "clone")) return x;
  return function(r, e, name, x);
}

static bool names_module(const AstExpr *e) {
  if (e->kind == AST_ATTR) return names_module(e->attr.value);
  return e->kind == AST_NAME && (!strcmp(e->name, "torch") || !strcmp(e->name, "F"));
}

static const Node *call(Reader *r, const AstExpr *e) {
  const AstExpr *f = e->call.callee;
  const AstArgs *args = &e->call.args;
  if (f->kind != AST_ATTR) return unknown(r, e);
  for (int i = 0; i < args->len; i++)
    if (args->data[i].kind != AST_ARG_POSITIONAL) return unknown(r, e);
  const char *name = f->attr.name.text;
  if (!names_module(f->attr.value)) {
    const Node *x = read_node(r, f->attr.value);
    return x ? method(r, e, name, x) : NULL;
  }
  if (args->len == 2 && (!strcmp(name, "matmul") || !strcmp(name, "mm") || !strcmp(name, "bmm")))
    return matmul(r, e, read_node(r, args->data[0].value), read_node(r, args->data[1].value));
  if (args->len != 1) return unknown(r, e);
  const Node *x = read_node(r, args->data[0].value);
  return x ? function(r, e, name, x) : NULL;
}

static const Node *read_node(Reader *r, const AstExpr *e) {
  switch (e->kind) {
  case AST_NAME: {
    const Node *n = map_get(r->names, e->name);
    return n ? n : unknown(r, e);
  }
  case AST_INT:
  case AST_FLOAT: return number(r, strtod(e->num.text, NULL));
  case AST_BINARY: return binary(r, e);
  case AST_CALL: return call(r, e);
  case AST_UNARY:
    if (e->unary.op != AST_OP_NEG) return unknown(r, e);
    return apply(r, read_node(r, e->unary.operand), negative);
  case AST_ATTR:
    if (!strcmp(e->attr.name.text, "T")) return transposed(r, e, read_node(r, e->attr.value));
    if (!strcmp(e->attr.name.text, "mT")) return swap(r, e, read_node(r, e->attr.value), -2, -1);
    return unknown(r, e);
  default: return unknown(r, e);
  }
}

/* ------------------------------------------------------------------ evaluating */

static double rounded(RtType t, double v) {
  char scratch[16];
  if (!rt_type_is_float(t)) return trunc(v);
  if (t == RT_F64) return v;
  if (t == RT_F32) return (double)(float)v;
  rt_set(t, scratch, 0, v);
  return rt_get(t, scratch, 0);
}

static double element(const RunData *d, const Node *n, const int64_t *at);

static double product(const RunData *d, const Node *n, const int64_t *at) {
  int64_t x[MOST_RANK], y[MOST_RANK];
  double sum = 0;
  memcpy(x, at, sizeof x);
  memcpy(y, at, sizeof y);
  for (int64_t k = 0; k < n->a->shape[n->rank - 1]; k++) {
    x[n->rank - 1] = y[n->rank - 2] = k;
    sum += element(d, n->a, x) * element(d, n->b, y);
  }
  return sum;
}

// An operand's element where it is spread over the result: trailing dimensions fit, or are 1.
static double spread(const RunData *d, const Node *of, int rank, const int64_t *at) {
  int64_t own[MOST_RANK] = {0};
  for (int i = 1; i <= of->rank; i++)
    own[of->rank - i] = of->shape[of->rank - i] == 1 ? 0 : at[rank - i];
  return element(d, of, own);
}

static double combined(const RunData *d, const Node *n, const int64_t *at) {
  double a = spread(d, n->a, n->rank, at), b = spread(d, n->b, n->rank, at);
  return calculated(n->op, a, b);
}

static double element(const RunData *d, const Node *n, const int64_t *at) {
  int64_t other[MOST_RANK], flat = 0;
  switch (n->kind) {
  case N_TENSOR:
    for (int i = 0; i < n->rank; i++) flat = flat * n->shape[i] + at[i];
    return rt_get(n->type, d->array[n->param].data, flat);
  case N_NUMBER: return n->number;
  case N_SWAP:
    memcpy(other, at, sizeof other);
    other[n->dim[0]] = at[n->dim[1]];
    other[n->dim[1]] = at[n->dim[0]];
    return element(d, n->a, other);
  case N_CAST: return rounded(n->type, element(d, n->a, at));
  case N_UNARY: return rounded(n->type, n->fn(element(d, n->a, at)));
  case N_MATMUL: return rounded(n->type, product(d, n, at));
  case N_BINARY: return rounded(n->type, combined(d, n, at));
  }
  return NAN;
}

/* ------------------------------------------------------------------ the program */

// Its parameters are the kernel's inputs, in their order.
static bool bind_inputs(Reader *r, const AstExpr *names) {
  const Program *p = r->data->program;
  int taken = 0;
  bool fits = names->kind == AST_TUPLE;
  for (int i = 0; i < p->params.len && fits; i++) {
    const RtArray *a = &r->data->array[i];
    if (p->params.data[i].kind != PARAM_TENSOR || p->params.data[i].role == ROLE_OUT) continue;
    fits = taken < names->items.len && a->rank <= MOST_RANK && !p->params.data[i].buf->strides;
    if (!fits) break;
    Node *n = make(r, N_TENSOR, NULL);
    n->param = i;
    n->type = a->type;
    n->rank = a->rank;
    n->work = 1;
    memcpy(n->shape, a->shape, (size_t)a->rank * sizeof *a->shape);
    map_set(r->names, names->items.data[taken++]->name, n);
  }
  if (fits && taken == names->items.len) return true;
  buf_puts(r->why, "the reference program's parameters are not the kernel's inputs");
  return false;
}

// Elements of one output: all where they are few, else some by the seed and the last one.
static TnSamples sample(Arena *a, const RunData *d, int param, const Node *n, uint64_t seed) {
  const RtArray *shape = &d->array[param];
  int64_t all = rt_count(shape), most = (int64_t)(MOST_WORK / fmax(n->work, 1)) + 16;
  int64_t count = most < MOST_ELEMENTS ? most : MOST_ELEMENTS;
  bool some = count < all;
  if (!some) count = all;
  TnSamples s = {.param = param, .n = count, .at = NEWN(a, int64_t, count + 1)};
  void *want = arena_alloc(a, rt_type_bytes(shape->type, count) + 16);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < count; i++) {
    int64_t at[MOST_RANK] = {0};
    state = state * 6364136223846793005u + 1442695040888963407u;
    s.at[i] = some ? (int64_t)((state >> 11) % (uint64_t)all) : i;
    if (i == count - 1) s.at[i] = all - 1;
    for (int64_t k = shape->rank - 1, rest = s.at[i]; k >= 0; k--) {
      at[k] = rest % shape->shape[k];
      rest /= shape->shape[k];
    }
    rt_set(shape->type, want, i, element(d, n, at));
  }
  s.want = want;
  return s;
}

static bool same_shape(const Node *n, const RtArray *a) {
  if (n->rank != a->rank) return false;
  for (int i = 0; i < n->rank; i++)
    if (n->shape[i] != a->shape[i]) return false;
  return true;
}

// The i-th output is the result, or the i-th of a tuple.
static bool sample_all(Reader *r, const AstExpr *result, uint64_t seed, TnReference *out) {
  const Program *p = r->data->program;
  bool tuple = result->kind == AST_TUPLE;
  int n = tuple ? result->items.len : 1, at = 0;
  for (int i = 0; i < p->params.len; i++) {
    if (!data_is_output(p, i)) continue;
    const Node *node = at < n ? read_node(r, tuple ? result->items.data[at] : result) : NULL;
    at++;
    if (node && same_shape(node, &r->data->array[i]) && !p->params.data[i].buf->strides) {
      vec_push(r->arena, &out->outputs, sample(r->arena, r->data, i, node, seed));
      continue;
    }
    if (!r->why->len) buf_puts(r->why, "the reference program's result has another shape");
    return false;
  }
  if (at < n) buf_puts(r->why, "the reference program has more results than the kernel outputs");
  return at >= n;
}

bool tn_declared(Arena *a, const char *text, const RunData *data, uint64_t seed, TnReference *out,
                 Buf *why) {
  Sources *sources = src_new(a);
  Diags *diags = diag_new(a, sources, (DiagOptions){0});
  AstModule *m = ast_parse(a, diags, src_add(sources, "reference", text, strlen(text)));
  Reader r = {a, data, map_new(a), why};
  *out = (TnReference){0};
  if (!m || m->body.len < 2 || !bind_inputs(&r, m->body.data[0]->expr)) return false;
  for (int i = 1; i < m->body.len - 1; i++) {
    const AstStmt *s = m->body.data[i];
    const Node *n = read_node(&r, s->assign.value);
    if (!n) return false;
    map_set(r.names, s->assign.targets.data[0]->name, (void *)(uintptr_t)n);
  }
  return sample_all(&r, m->body.data[m->body.len - 1]->expr, seed, out);
}
