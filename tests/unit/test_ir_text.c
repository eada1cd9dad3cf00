// ir/print, ir/read: random programs keep everything through the text and back; garbage never
// crashes.
// SPDX-License-Identifier: MIT
#include "ir_random.h"
#include "suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* equality of programs, up to names that the text had to change and to spans */

static Map *pairs; // "pointer" -> the other program's Var or Buffer

static bool same_object(const void *x, const void *y) {
  char key[32];
  if (!x || !y) return x == y;
  snprintf(key, sizeof key, "%p", x);
  if (!map_has(pairs, key)) map_set(pairs, key, (void *)(uintptr_t)y);
  return map_get(pairs, key) == y;
}

static bool same_text(const char *x, const char *y) { return x && y ? !strcmp(x, y) : x == y; }

static bool same_expr(const Expr *x, const Expr *y);

static bool same_list(Expr **x, Expr **y, int n) {
  if (!x || !y) return x == y || n == 0;
  for (int i = 0; i < n; i++) {
    if (!same_expr(x[i], y[i])) return false;
  }
  return true;
}

static bool same_expr(const Expr *x, const Expr *y) {
  if (!x || !y) return x == y;
  if (x->kind != y->kind || x->type != y->type) return false;
  switch (x->kind) {
  case EX_INT: return x->u.i == y->u.i;
  case EX_FLOAT: return !memcmp(&x->u.f, &y->u.f, 8) || (isnan(x->u.f) && isnan(y->u.f));
  case EX_VAR: return same_object(x->u.var, y->u.var);
  case EX_LOAD:
    return same_object(x->u.load.buf, y->u.load.buf) && x->u.load.n == y->u.load.n &&
           same_list(x->u.load.idx, y->u.load.idx, x->u.load.n);
  case EX_UNARY: return x->u.un.op == y->u.un.op && same_expr(x->u.un.a, y->u.un.a);
  case EX_BINARY:
    return x->u.bin.op == y->u.bin.op && same_expr(x->u.bin.a, y->u.bin.a) &&
           same_expr(x->u.bin.b, y->u.bin.b);
  case EX_CAST:
  case EX_BITCAST: return same_expr(x->u.cast, y->u.cast);
  case EX_SELECT:
    return same_expr(x->u.sel.cond, y->u.sel.cond) && same_expr(x->u.sel.yes, y->u.sel.yes) &&
           same_expr(x->u.sel.no, y->u.sel.no);
  case EX_MATH:
    return x->u.math.fn == y->u.math.fn && x->u.math.n == y->u.math.n &&
           same_list((Expr **)x->u.math.arg, (Expr **)y->u.math.arg, x->u.math.n);
  }
  return false;
}

static bool same_layout(const Layout *x, const Layout *y) {
  Buf a = {0}, b = {0};
  if (x) layout_print(x, &a);
  if (y) layout_print(y, &b);
  bool same = !strcmp(buf_str(&a), buf_str(&b));
  buf_free(&a);
  buf_free(&b);
  return same;
}

static bool same_region(const Region *x, const Region *y) {
  if (!x || !y) return x == y;
  return same_object(x->buf, y->buf) && x->n == y->n && same_list(x->min, y->min, x->n) &&
         same_list(x->extent, y->extent, x->n);
}

static bool same_stmt(const Stmt *x, const Stmt *y) {
  if (!x || !y) return x == y;
  if (x->kind != y->kind) return false;
  switch (x->kind) {
  case ST_BLOCK:
    for (int i = 0; i < x->u.block.len && i < y->u.block.len; i++) {
      if (!same_stmt(x->u.block.data[i], y->u.block.data[i])) return false;
    }
    return x->u.block.len == y->u.block.len;
  case ST_FOR:
    for (int i = 0; i < x->u.loop.nvars; i++) {
      if (!same_object(x->u.loop.var[i], y->u.loop.var[i])) return false;
    }
    return x->u.loop.loop == y->u.loop.loop && x->u.loop.nvars == y->u.loop.nvars &&
           same_list(x->u.loop.min, y->u.loop.min, x->u.loop.nvars) &&
           same_list(x->u.loop.extent, y->u.loop.extent, x->u.loop.nvars) &&
           same_expr(x->u.loop.cond, y->u.loop.cond) &&
           x->u.loop.num_stages == y->u.loop.num_stages && x->u.loop.unroll == y->u.loop.unroll &&
           x->u.loop.async == y->u.loop.async &&
           same_layout(x->u.loop.layout, y->u.loop.layout) &&
           same_stmt(x->u.loop.body, y->u.loop.body);
  case ST_IF:
    return same_expr(x->u.branch.cond, y->u.branch.cond) &&
           same_stmt(x->u.branch.yes, y->u.branch.yes) && same_stmt(x->u.branch.no, y->u.branch.no);
  case ST_LET:
    return same_object(x->u.let.var, y->u.let.var) && x->u.let.var->type == y->u.let.var->type &&
           same_expr(x->u.let.value, y->u.let.value);
  case ST_STORE:
    return same_object(x->u.store.buf, y->u.store.buf) &&
           same_list(x->u.store.idx, y->u.store.idx, x->u.store.n) &&
           same_expr(x->u.store.value, y->u.store.value);
  case ST_OP: {
    const OpInfo *info = op_info(x->u.op.op);
    if (x->u.op.op != y->u.op.op) return false;
    for (int i = 0; i < info->nargs; i++) {
      const Arg *a = &x->u.op.arg[i], *b = &y->u.op.arg[i];
      bool same = info->arg[i].kind == ARG_INT    ? a->i == b->i
                  : info->arg[i].kind == ARG_EXPR ? same_expr(a->expr, b->expr)
                  : info->arg[i].kind == ARG_TEXT ? same_text(a->text, b->text)
                                                  : same_region(a->region, b->region);
      if (!same) return false;
    }
    return true;
  }
  case ST_ASSUME: return x->known == y->known && same_expr(x->u.assume, y->u.assume);
  }
  return false;
}

static bool same_buffer(const Buffer *x, const Buffer *y) {
  return same_object(x, y) && x->dtype == y->dtype && x->scope == y->scope && x->ndim == y->ndim &&
         same_list(x->shape, y->shape, x->ndim) && same_list(x->strides, y->strides, x->ndim) &&
         (!x->strides == !y->strides) && same_expr(x->safe, y->safe) && x->align == y->align &&
         x->offset == y->offset && same_object(x->base, y->base) &&
         same_layout(x->layout, y->layout);
}

static bool same_kernel(const Kernel *x, const Kernel *y) {
  for (int i = 0; i < 3; i++) {
    if (!same_object(x->block[i], y->block[i]) || !same_expr(x->grid[i], y->grid[i])) return false;
    if (y->block[i]->kind != VAR_BLOCK || y->block[i]->axis != i) return false;
  }
  if (!same_object(x->thread, y->thread) || x->buffers.len != y->buffers.len) return false;
  for (int i = 0; i < x->buffers.len; i++) {
    if (!same_buffer(x->buffers.data[i], y->buffers.data[i])) return false;
  }
  if (x->hints.len != y->hints.len) return false;
  for (int i = 0; i < x->hints.len; i++) {
    const Hint *h = &x->hints.data[i], *g = &y->hints.data[i];
    if (!same_text(h->name, g->name) || h->value != g->value) return false;
  }
  return same_text(x->name, y->name) && x->threads == y->threads && x->level == y->level &&
         x->raster_panel == y->raster_panel && x->raster_column == y->raster_column &&
         x->smem_bytes == y->smem_bytes && same_stmt(x->body, y->body);
}

static bool same_program(Arena *a, const Program *x, const Program *y) {
  pairs = map_new(a);
  if (!same_text(x->symbol, y->symbol) || !same_text(x->file, y->file) ||
      !same_text(x->bindings, y->bindings) || x->sizes.len != y->sizes.len ||
      x->params.len != y->params.len || x->kernels.len != y->kernels.len ||
      x->facts.len != y->facts.len)
    return false;
  for (int i = 0; i < x->sizes.len; i++) {
    if (!same_object(x->sizes.data[i], y->sizes.data[i])) return false;
  }
  for (int i = 0; i < x->params.len; i++) {
    const Param *p = &x->params.data[i], *q = &y->params.data[i];
    if (p->kind != q->kind || !same_text(p->name, q->name) || p->role != q->role) return false;
    if (p->kind == PARAM_TENSOR && !same_buffer(p->buf, q->buf)) return false;
    if (p->kind == PARAM_SCALAR && (!same_object(p->var, q->var) || p->var->type != q->var->type))
      return false;
  }
  for (int i = 0; i < x->kernels.len; i++) {
    if (!same_kernel(x->kernels.data[i], y->kernels.data[i])) return false;
  }
  for (int i = 0; i < x->facts.len; i++) {
    const Fact *f = &x->facts.data[i], *g = &y->facts.data[i];
    if (!same_expr(f->cond, g->cond) || !same_text(f->why, g->why) || f->on_device != g->on_device)
      return false;
  }
  return true;
}

/* reading */

static Arena *arena;
static Diags *diags;

static Program *read_text(const char *text) {
  Sources *s = src_new(arena);
  diags = diag_new(arena, s, (DiagOptions){0});
  return ir_read(arena, diags, src_add(s, "t.tir", text, strlen(text)));
}

START_TEST(round_trip) {
  for (uint64_t seed = 0; seed < 1500; seed++) {
    arena = arena_new();
    Program *p = rand_program(arena, seed);
    Buf first = {0}, second = {0}, third = {0};
    ir_print(p, &first);
    Program *q = read_text(buf_str(&first));
    if (!q) diag_flush(diags, stderr);
    ck_assert_msg(q != NULL, "seed %d does not read:\n%s", (int)seed, buf_str(&first));
    ck_assert_msg(same_program(arena, p, q), "seed %d reads differently:\n%s", (int)seed,
                  buf_str(&first));
    ir_print(q, &second);
    ck_assert_msg(!strcmp(buf_str(&first), buf_str(&second)), "seed %d prints differently:\n%s\n%s",
                  (int)seed, buf_str(&first), buf_str(&second));
    Program *clone = ir_clone(arena, p);
    ck_assert(same_program(arena, p, clone));
    ck_assert(clone->kernels.data[0]->thread != p->kernels.data[0]->thread);
    ir_print(clone, &third);
    ck_assert_str_eq(buf_str(&first), buf_str(&third));
    buf_free(&first);
    buf_free(&second);
    buf_free(&third);
    arena_free(arena);
  }
}
END_TEST

static void mutate(char *s, size_t *len, size_t cap) {
  static const char *const bits[] = {
      "[",     "]",       "(",        ")",    "{",      "}",      ",",    "+:",
      "=",     "@",       "1:2-3",    "for ", "if ",    "let ",   "\"",   "9999999999999999999999",
      "1e999", "layout(", "float16(", "-",    "// x\n", "#",      "not ", "select(",
      "copy(", "min(",    "x",        "0",    "int8(-", "device", "\xff", "role "};
  size_t at = *len ? rnd((uint32_t)*len) : 0;
  size_t n = rnd(3) ? 0 : rnd(20);
  if (n > *len - at) n = *len - at;
  const char *add = rnd(3) ? bits[rnd(LEN(bits))] : "";
  size_t m = strlen(add);
  if (*len - n + m >= cap) return;
  memmove(s + at + m, s + at + n, *len - at - n + 1);
  memcpy(s + at, add, m);
  *len += m - n;
}

START_TEST(garbage) {
  int good = 0;
  for (uint64_t seed = 0; seed < 6000; seed++) {
    arena = arena_new();
    Program *p = rand_program(arena, seed % 60);
    rseed = seed * 77777 + 3;
    Buf text = {0};
    ir_print(p, &text);
    size_t len = text.len, cap = len + 4096;
    char *s = arena_alloc(arena, cap + 1);
    memcpy(s, text.data, len);
    for (int n = 1 + (int)rnd(3); n > 0; n--) mutate(s, &len, cap);
    Program *q = read_text(s);
    ck_assert_msg((q != NULL) == (diag_errors(diags) == 0), "seed %d: no program and no error",
                  (int)seed);
    if (q) {
      Buf out = {0}, why = {0};
      good++;
      ir_print(q, &out);
      ir_verify(q, &why);
      Program *again = read_text(buf_str(&out));
      ck_assert_msg(again != NULL, "seed %d: what was read and printed does not read:\n%s",
                    (int)seed, buf_str(&out));
      buf_free(&out);
      buf_free(&why);
    }
    buf_free(&text);
    arena_free(arena);
  }
  ck_assert(good > 100);
}
END_TEST

static void expect_error(const char *text, const char *code, int line, int column) {
  arena = arena_new();
  Program *p = read_text(text);
  ck_assert_msg(!p && diag_id(diags, 0) >= 0, "no error in: %s", text);
  ck_assert_msg(!strcmp(diag_code((DiagId)diag_id(diags, 0)), code), "%s, not %s, in: %s",
                diag_code((DiagId)diag_id(diags, 0)), code, text);
  char *out = NULL, want[64];
  size_t size = 0;
  FILE *to = open_memstream(&out, &size);
  diag_flush(diags, to);
  fclose(to);
  snprintf(want, sizeof want, "t.tir:%d:%d: error", line, column);
  ck_assert_msg(strstr(out, want) != NULL, "not at %d:%d: %s", line, column, out);
  free(out);
  arena_free(arena);
}

START_TEST(errors) {
  expect_error("", "E501", 1, 1);
  expect_error("program p\nparam A : tensor float16 8\n", "E501", 2, 26);
  expect_error("program p\nsize M\nsize M\n", "E502", 3, 6);
  expect_error("program p\nsize for\n", "E502", 2, 6);
  expect_error("program p\nparam A : tensor float16 [N]\n", "E502", 2, 27);
  expect_error("program p\nparam A : tensor float17 [1]\n", "E505", 2, 18);
  expect_error("program p\nfact 99999999999999999999 == 1\n", "E504", 2, 6);
  expect_error("program p\nkernel k {\n  threads 0\n", "E504", 3, 11);
  expect_error("program p\nkernel k {\n  local r : float32 [4]\n  body {\n    r[0, 1] = 1.0\n",
               "E503", 5, 5);
  expect_error("program p\nkernel k {\n  body {\n    copy(dst=1)\n", "E507", 4, 5);
  expect_error("program p\nkernel k {\n  local r : float32 [4] layout(?)\n", "E508", 3, 25);
  expect_error("program p\nkernel k {\n  body {\n    let x = frob(1)\n", "E502", 4, 13);
  expect_error("program p\nkernel k {\n  body {\n    let x = min(1, 2, 3)\n", "E501", 4, 24);
  char deep[2000] = "program p\nfact ";
  for (int i = 0; i < 500; i++) strcat(deep, "(");
  expect_error(deep, "E506", 2, 206);
}
END_TEST

static const char *sample =
  "program matmul file \"gemm.tl\" bindings \"M=128\"\n"
  "size M\n"
  "param A : tensor float16 [M, 64] role in\n"
  "param C : tensor float32 [M, 64] align 8 safe -1.0 role out\n"
  "param alpha : float32\n"
  "\n"
  "kernel matmul_k0 {\n"
  "  level tile\n"
  "  grid [(M + 127) // 128, 1, 1]\n"
  "  threads 128\n"
  "  block [bx, _, _]\n"
  "  thread tx\n"
  "  hint \"stages\" 3\n"
  "  hint \"ping-pong\" 0\n"
  "  raster 10 column\n"
  "  shared A_s : float16 [128, 64]\n"
  "  fragment acc : float32 [128, 64]\n"
  "  body {\n"
  "    copy(src=A[bx * 128 +: 128, 0 +: 64], dst=A_s[0 +: 128, 0 +: 64], async=0)\n"
  "    parallel i, j in 0 +: 128, 0 +: 64 {\n"
  "      acc[i, j] = float32(A_s[i, j]) * alpha\n"
  "    }\n"
  "    parallel i1, j1 in 0 +: 128, 0 +: 64 async {\n"
  "      A_s[i1, j1] = A[j1, i1]\n"
  "    }\n"
  "    if bx * 128 < M and tx != 3 {\n"
  "      let n = M - bx * 128\n"
  "      pipelined k in 0 +: n stages 3 {\n"
  "        assume k % 8 == 0\n"
  "      }\n"
  "    } else {\n"
  "      atomic(dst=C[0, 0], value=1.0, fn=0)\n"
  "    }\n"
  "    copy(src=acc[0 +: 128, 0 +: 64], dst=C[bx * 128 +: 128, 0 +: 64], async=0)\n"
  "  }\n"
  "}\n"
  "\n"
  "fact M % 128 == 0 why \"tiles divide\"\n";

START_TEST(canonical_text) {
  arena = arena_new();
  Program *p = read_text(sample);
  ck_assert(p != NULL);
  Buf out = {0}, why = {0};
  ir_print(p, &out);
  ck_assert_str_eq(buf_str(&out), sample);
  ck_assert_msg(ir_verify(p, &why), "%s", buf_str(&why));
  buf_free(&out);
  ir_roles(p);
  ck_assert(p->params.data[0].role == ROLE_IN && p->params.data[1].role == ROLE_INOUT);
  // Spans of statements are their places in the text.
  Stmt *first = p->kernels.data[0]->body->u.block.data[0];
  ck_assert_int_eq(memcmp(sample + first->span.lo, "copy(src=A[", 11), 0);
  ir_print_spans(p, &out);
  Program *q = read_text(buf_str(&out));
  ck_assert(q != NULL);
  buf_free(&out);
  arena_free(arena);
}
END_TEST

START_TEST(facts_on_the_device) {
  static const char *text =
    "program p\nparam A : tensor float32 [64] role in\n\nkernel p_k0 {\n  level tile\n"
    "  grid [4, 1, 1]\n  threads 32\n  block [bx, by, bz]\n  thread tx\n  body {\n"
    "    for i in 0 +: 4 {\n    }\n    for i in 0 +: 8 {\n      assume i < bx\n    }\n"
    "    for i_1 in 0 +: 8 {\n    }\n  }\n}\n\nfact i < bx device\n";
  arena = arena_new();
  Program *p = read_text(text);
  ck_assert(p != NULL);
  Stmt *second = p->kernels.data[0]->body->u.block.data[1];
  ck_assert(p->facts.data[0].cond->u.bin.a->u.var == second->u.loop.var[0]);
  Buf out = {0};
  ir_print(p, &out);
  ck_assert_str_eq(buf_str(&out), text);
  buf_free(&out);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("ir text");
  TCase *tc = tcase_create("text");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, canonical_text);
  tcase_add_test(tc, errors);
  tcase_add_test(tc, facts_on_the_device);
  tcase_add_test(tc, round_trip);
  tcase_add_test(tc, garbage);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
