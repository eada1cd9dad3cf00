// Layouts against brute force: every operation over random and hand-picked layouts.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static Arena *arena;
static uint64_t state = 88172645463325252u;

static int64_t rnd(int64_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int64_t)(state % (uint64_t)n);
}

/* Value of an index expression over bound variables. */

typedef struct {
  Var *var[16];
  int64_t value[16];
  int n;
} Env;

static int64_t eval(const Env *e, const Expr *x) {
  if (x->kind == EX_INT) return x->u.i;
  if (x->kind == EX_VAR) {
    for (int i = 0; i < e->n; i++)
      if (e->var[i] == x->u.var) return e->value[i];
    ck_abort_msg("unbound variable");
  }
  ck_assert_int_eq(x->kind, EX_BINARY);
  int64_t a = eval(e, x->u.bin.a);
  if (x->u.bin.op == BIN_AND && !a) return 0;
  int64_t b = eval(e, x->u.bin.b);
  switch (x->u.bin.op) {
  case BIN_ADD: return a + b;
  case BIN_SUB: return a - b;
  case BIN_MUL: return a * b;
  case BIN_FLOORDIV: return a / b;
  case BIN_FLOORMOD: return a % b;
  case BIN_LT: return a < b;
  case BIN_EQ: return a == b;
  case BIN_AND: return b != 0;
  case BIN_BITXOR: return a ^ b;
  default: ck_abort_msg("operator %d", x->u.bin.op);
  }
  return 0;
}

static bool next(const Layout *l, int64_t *c) {
  for (int i = l->ndims - 1; i >= 0; i--) {
    if (++c[i] < l->shape[i]) return true;
    c[i] = 0;
  }
  return false;
}

// All copies of an element, by the definition: one place for each combination of replica indices.
static int copies(const Layout *l, int64_t base, int64_t *out) {
  int n = 1;
  out[0] = base;
  for (int r = 0; r < l->nreplicas; r++) {
    int m = n;
    for (int64_t i = 1; i < l->replica[r].extent; i++)
      for (int j = 0; j < m; j++) out[n++] = out[j] + i * l->replica[r].stride;
  }
  return n;
}

static bool covers_slow(const Layout *l) {
  static uint8_t seen[1 << 22];
  memset(seen, 0, sizeof seen);
  int64_t c[16] = {0}, who[1024], t, w;
  do {
    layout_at(l, c, &t, &w);
    int n = copies(l, t, who);
    for (int i = 0; i < n; i++) {
      int64_t at = (w / l->bits) * (l->threads ? l->threads : 1) + (l->threads ? who[i] : 0);
      if (l->threads && who[i] >= l->threads) return false;
      ck_assert_int_lt(at, (int64_t)sizeof seen);
      if (seen[at]++) return false;
    }
  } while (next(l, c));
  return true;
}

static Layout *random_fragment(void) {
  static const int threads[] = {33, 48, 96, 384, 128, 32, 64};
  static const int extents[] = {80, 192, 229, 16, 64, 1, 7, 33};
  int64_t shape[3];
  int n = 1 + (int)rnd(3);
  for (int i = 0; i < n; i++) shape[i] = extents[rnd(n == 3 ? 2 + 6 : 8)];
  if (n == 3) shape[0] = 1 + rnd(4);
  int vec = 1 << rnd(4);
  return layout_coalesced(arena, shape, n, 16, threads[rnd(7)], vec);
}

static void check_inverse_ints(const Layout *l) {
  int64_t c[16] = {0}, d[16], who[1024], t, w, held = 0, elems = 0;
  do {
    layout_at(l, c, &t, &w);
    ck_assert_int_eq(w % l->bits, 0);
    int n = copies(l, t, who);
    for (int i = 0; i < n; i++) {
      ck_assert(layout_coord(l, who[i], w / l->bits, d));
      ck_assert(!memcmp(c, d, sizeof(int64_t) * (size_t)l->ndims));
    }
    elems += n;
  } while (next(l, c));
  for (t = 0; t < l->threads; t++)
    for (w = 0; w < layout_regs(l); w++) held += layout_coord(l, t, w, d);
  ck_assert_int_eq(held, elems);
}

static void check_inverse_exprs(const Layout *l) {
  Digit reg[64];
  Env e = {0};
  Expr *digit[64], *coord[16], *valid, *first;
  int nr = layout_reg_digits(l, reg, 64);
  ck_assert_int_lt(nr, 15);
  for (int i = 0; i <= nr; i++) {
    e.var[e.n++] = var_new(arena, "v", DT_INDEX, i ? VAR_LOOP : VAR_THREAD, NO_SPAN);
    if (i) digit[i - 1] = ex_var(arena, e.var[i]);
  }
  Expr *thread = ex_var(arena, e.var[0]);
  layout_inverse(arena, NULL, l, thread, digit, coord, &valid);
  first = layout_first_copy(arena, l, thread);
  for (int trial = 0; trial < 300; trial++) {
    int64_t r = 0, c[16], t, w;
    e.value[0] = rnd(l->threads);
    for (int i = 0; i < nr; i++)
      r += (e.value[i + 1] = rnd(reg[i].extent)) * reg[i].stride / l->bits;
    bool holds = layout_coord(l, e.value[0], r, c);
    ck_assert_int_eq(holds, !valid || eval(&e, valid));
    if (!holds) continue;
    for (int i = 0; i < l->ndims; i++) ck_assert_int_eq(eval(&e, coord[i]), c[i]);
    layout_at(l, c, &t, &w);
    ck_assert_int_eq(!first || eval(&e, first), t == e.value[0]);
  }
}

static void check_exprs(const Layout *l) {
  Env e = {.n = l->ndims};
  Expr *coord[16];
  for (int i = 0; i < l->ndims; i++)
    coord[i] = ex_var(arena, e.var[i] = var_new(arena, "c", DT_INDEX, VAR_LOOP, NO_SPAN));
  Expr *thread = layout_thread(arena, NULL, l, coord), *where = layout_where(arena, NULL, l, coord);
  for (int trial = 0; trial < 300; trial++) {
    int64_t t, w;
    for (int i = 0; i < l->ndims; i++) e.value[i] = rnd(l->shape[i]);
    layout_at(l, e.value, &t, &w);
    ck_assert_int_eq(eval(&e, thread), t);
    ck_assert_int_eq(eval(&e, where), w / l->bits);
  }
}

static void check_vector(const Layout *l) {
  int64_t v = layout_vector(l), c[16] = {0}, t, w, t2, w2;
  ck_assert_int_eq(l->shape[l->ndims - 1] % v, 0);
  do {
    int64_t last = c[l->ndims - 1], in = last % v;
    layout_at(l, c, &t, &w);
    c[l->ndims - 1] = last - in;
    layout_at(l, c, &t2, &w2);
    c[l->ndims - 1] = last;
    ck_assert_int_eq(t, t2);
    ck_assert_int_eq(w, w2 + in * l->bits);
    ck_assert_int_eq(w2 % (v * l->bits), 0);
  } while (next(l, c));
}

static void check_text(const Layout *l) {
  Buf b = {0}, b2 = {0};
  layout_print(l, &b);
  const char *s = buf_str(&b);
  Layout *r = layout_parse(arena, &s);
  ck_assert_msg(r && !*s, "%s", buf_str(&b));
  layout_print(r, &b2);
  ck_assert_str_eq(buf_str(&b), buf_str(&b2));
  ck_assert(layout_equal(l, r));
  buf_free(&b);
  buf_free(&b2);
}

static void check_drop(const Layout *l) {
  for (int dim = 0; dim < l->ndims && l->ndims > 1; dim++) {
    Layout *p = layout_drop(arena, l, dim);
    if (!p) continue;
    ck_assert_int_eq(p->ndims, l->ndims - 1);
    int64_t c[16] = {0}, who[1024], t, w, tp, wp;
    bool exact = true; // dropped digits may overrun: then copies exceed the threads that ran
    do {
      layout_at(l, c, &t, &w);
      int64_t d[16];
      for (int i = 0, k = 0; i < l->ndims; i++)
        if (i != dim) d[k++] = c[i];
      layout_at(p, d, &tp, &wp);
      int n = copies(p, tp, who);
      bool found = false;
      for (int i = 0; i < n; i++) found = found || who[i] == t;
      ck_assert(found);
      exact = exact && wp / p->bits < layout_regs(p);
    } while (next(l, c));
    ck_assert(exact);
  }
}

static void check_all(const Layout *l) {
  ck_assert(layout_covers(l) == covers_slow(l));
  ck_assert(layout_covers(l));
  if (l->threads) {
    check_inverse_ints(l);
    check_inverse_exprs(l);
    check_drop(l);
  }
  check_exprs(l);
  check_vector(l);
  check_text(l);
}

START_TEST(coalesced) {
  for (int i = 0; i < 150; i++) check_all(random_fragment());
  int64_t f[2] = {128, 32}, c[2] = {5, 9}, t, w;
  Layout *l = layout_coalesced(arena, f, 2, 16, 128, 8);
  ck_assert_int_eq(l->ngroups, 2);
  layout_at(l, c, &t, &w); // (f / 8) % 128, f = 5 * 32 + 9
  ck_assert_int_eq(t, 21);
  ck_assert_int_eq(w, 16);
  ck_assert_int_eq(layout_vector(l), 8);
}
END_TEST

// Each dimension can be dropped, and a warp stays within a row where there are rows for the others.
START_TEST(separate) {
  static const int counts[] = {1, 7, 32, 33, 48, 96, 128, 256, 384};
  for (int i = 0; i < 60; i++) {
    int n = 1 + (int)rnd(3), vec = 1 << rnd(3), threads = counts[rnd(9)];
    int64_t shape[3], lanes = 0;
    for (int d = 0; d < n; d++) shape[d] = 1 + rnd(d == n - 1 ? 90 : 6);
    shape[n - 1] *= vec;
    Layout *l = layout_separate(arena, shape, n, 16, threads, vec);
    check_all(l);
    ck_assert_int_eq(l->ngroups, n);
    for (int d = 0; d < n; d++) ck_assert_ptr_nonnull(layout_drop(arena, l, d));
    for (int j = 0; j < l->group[n - 1].ndigits; j++)
      if (l->group[n - 1].digit[j].owner == OWN_THREAD) lanes = l->group[n - 1].digit[j].extent;
    if (n > 1 && shape[0] >= threads / 32) ck_assert_int_le(lanes, 32);
    if (shape[n - 1] % vec == 0 && shape[n - 1] >= vec) ck_assert_int_ge(layout_vector(l), vec);
  }
  int64_t row[2] = {1, 2000}, odd[2] = {3, 40}; // the row's top digit overruns it
  ck_assert_ptr_nonnull(layout_drop(arena, layout_coalesced(arena, row, 2, 16, 128, 8), 1));
  Layout *l = layout_separate(arena, odd, 2, 32, 33, 1); // 32 of the threads, all along the row
  int64_t c[2] = {2, 33}, t, w;
  layout_at(l, c, &t, &w);
  ck_assert_int_eq(t, 1);
  ck_assert_int_eq(w / 32, 5);
}
END_TEST

// The same elements under another shape lie where they lay.
START_TEST(reshape) {
  int done = 0;
  for (int i = 0; i < 300; i++) {
    int64_t total = 1, shape[3], c[16] = {0}, own[2] = {1 + rnd(6), 1 + rnd(40)};
    Layout *l = i % 2 ? random_fragment() : layout_separate(arena, own, 2, 16, 64, 1);
    for (int d = 0; d < l->ndims; d++) total *= l->shape[d];
    shape[0] = 1 + rnd(8);
    while (total % shape[0]) shape[0]--;
    shape[1] = 1 + rnd(16);
    while (total / shape[0] % shape[1]) shape[1]--;
    shape[2] = total / shape[0] / shape[1];
    Layout *r = layout_reshape(arena, l, shape, 3);
    if (!r) continue;
    done++;
    for (int64_t f = 0; f < total; f++, next(l, c)) {
      int64_t d[3] = {f / shape[2] / shape[1], f / shape[2] % shape[1], f % shape[2]}, t, w, t2, w2;
      layout_at(l, c, &t, &w);
      layout_at(r, d, &t2, &w2);
      ck_assert_int_eq(t, t2);
      ck_assert_int_eq(w, w2);
    }
  }
  ck_assert_int_gt(done, 80);
}
END_TEST

START_TEST(mma) {
  static const int warps[][2] = {{1, 1}, {2, 2}, {2, 4}, {4, 1}, {1, 4}, {3, 1}};
  for (int i = 0; i < 6; i++) {
    int wm = warps[i][0], wn = warps[i][1];
    check_all(layout_mma_c(arena, 32 * wm, 24 * wn, 32, wm, wn, i % 2, false));
    check_all(layout_mma_c(arena, 16 * wm, 8 * wn, 16, wm, wn, false, false));
    check_all(layout_mma_c(arena, 32 * wm, 48 * wn, 32, wm, wn, i % 2, true));
    for (int bits = 8; bits <= 32; bits *= 2)
      for (int trans = 0; trans < 2; trans++)
        for (int k = 8; k <= 80; k += 24) {
          check_all(layout_mma_a(arena, 32 * wm, k, bits, trans, wm, wn));
          check_all(layout_mma_b(arena, 16 * wn, k, bits, trans, wm, wn));
        }
  }
  // PTX ISA, m16n8k16: c2 of lane 13 is row 13 / 4 + 8, column 2 * (13 % 4).
  int64_t c[2];
  ck_assert(layout_coord(layout_mma_c(arena, 16, 8, 32, 1, 1, false, false), 13, 2, c));
  ck_assert_int_eq(c[0], 11);
  ck_assert_int_eq(c[1], 2);
  // In pairs: tile row 3 of the upper half is row 7; column 2 of tile 1 is column 5.
  ck_assert(layout_coord(layout_mma_c(arena, 16, 16, 32, 1, 1, true, true), 13, 6, c));
  ck_assert_int_eq(c[0], 7);
  ck_assert_int_eq(c[1], 5);
  // a5 (second half of register a2): row 13 / 4, column 2 * (13 % 4) + 9.
  ck_assert(layout_coord(layout_mma_a(arena, 16, 16, 16, false, 1, 1), 13, 5, c));
  ck_assert_int_eq(c[0], 3);
  ck_assert_int_eq(c[1], 11);
  // 8-bit b, element 6: k = 4 * (13 % 4) + 16 + 2, n = 3.
  ck_assert(layout_coord(layout_mma_b(arena, 8, 32, 8, true, 1, 1), 13, 6, c));
  ck_assert_int_eq(c[0], 3);
  ck_assert_int_eq(c[1], 22);
}
END_TEST

// LANGUAGE.md 6.5, written out: chunk c = j / vec % W, s = i % 8, c ^= s / (8 / W).
static int64_t swizzle_formula(int64_t i, int64_t j, int rows, int bits, int width) {
  int64_t vec = 128 / bits, c = (j / vec) % width, panel = (j / vec) / width;
  c ^= (i % 8) / (8 / width);
  return (panel * ((rows + 7) / 8 * 8) + i) * width * vec + c * vec + j % vec;
}

START_TEST(shared) {
  static const int cols[] = {8, 16, 24, 32, 48, 64, 80, 96, 128, 192, 229, 256};
  for (size_t k = 0; k < LEN(cols); k++)
    for (int bits = 8; bits <= 32; bits *= 2)
      for (int rows = 7; rows <= 48; rows += 9) {
        Layout *l = layout_swizzled(arena, rows, cols[k], bits);
        check_all(l);
        int bytes = cols[k] * bits / 8, width = bytes % 128 == 0 ? 8 : bytes % 64 == 0 ? 4 : 2;
        int64_t t, w, c[2] = {rnd(rows), rnd(cols[k])}, off[8];
        layout_at(l, c, &t, &w);
        if (bytes % 32 == 0)
          ck_assert_int_eq(w / bits, swizzle_formula(c[0], c[1], rows, bits, width));
        for (int r = 0; r < 8 && rows >= 8; r++) { // one 8x8 matrix of ldmatrix
          c[0] = r;
          c[1] = 0;
          layout_at(l, c, &t, &w);
          off[r] = w / 8;
        }
        if (rows >= 8) ck_assert_int_eq(layout_conflicts(off, 8, 16), 0);
      }
  int64_t shape[3] = {3, 20, 64}, lead[1] = {3};
  check_all(layout_swizzled_nd(arena, shape, 3, 16));
  ck_assert(layout_equal(layout_lead(arena, layout_swizzled(arena, 20, 64, 16), lead, 1),
                         layout_swizzled_nd(arena, shape, 3, 16)));
  check_all(layout_linear(arena, shape, 3, 32));
  check_all(layout_rows(arena, shape, 3, 32, 68 * 32));
}
END_TEST

START_TEST(equality) {
  for (int i = 0; i < 200; i++) {
    Layout *x = random_fragment(),
           *y = layout_coalesced(arena, x->shape, x->ndims, 16, x->threads, 1 << rnd(3));
    int64_t c[16] = {0}, t, w, t2, w2;
    bool same = true;
    do {
      layout_at(x, c, &t, &w);
      layout_at(y, c, &t2, &w2);
      same = same && t == t2 && w == w2;
    } while (next(x, c));
    ck_assert_int_eq(layout_equal(x, y), same);
  }
  int64_t s[2] = {16, 16};
  Layout *r = layout_replicated(arena, s, 2, 32, 96);
  check_all(r);
  ck_assert(!layout_equal(r, layout_coalesced(arena, s, 2, 32, 96, 1)));
}
END_TEST

START_TEST(permute) {
  for (int i = 0; i < 100; i++) {
    Layout *l = random_fragment();
    int order[3] = {0, 1, 2}, n = l->ndims;
    for (int k = 0; k < n; k++) {
      int j = (int)rnd(n), t = order[k];
      order[k] = order[j];
      order[j] = t;
    }
    Layout *p = layout_permute(arena, l, order);
    if (!p) continue;
    int64_t c[16] = {0}, d[16], t, w, t2, w2;
    do {
      for (int k = 0; k < n; k++) d[k] = c[order[k]];
      layout_at(l, c, &t, &w);
      layout_at(p, d, &t2, &w2);
      ck_assert(t == t2 && w == w2);
    } while (next(l, c));
  }
}
END_TEST

// Conflicts by simulation: bytes served per bank word and phase.
// A part at any multiple of its shape lies on the threads that the part's own layout names, in
// registers that differ from its own by a constant in one order; where threads would go, there is
// none.
START_TEST(parts) {
  Layout *l = layout_wgmma_c(arena, 128, 192, 32, 2, 1, WGMMA_NONE_LOADED, 0);
  int64_t shapes[][2] = {{128, 64}, {128, 8}, {128, 192}, {128, 96}};
  for (size_t s = 0; s < LEN(shapes); s++) {
    Layout *p = layout_part(arena, l, shapes[s]);
    ck_assert(p && layout_covers(p));
    ck_assert_int_eq(layout_regs(p), shapes[s][0] * shapes[s][1] / 256);
    for (int64_t at = 0; at < 192; at += shapes[s][1])
      for (int64_t i = 0; i < 128; i++)
        for (int64_t j = 0; j < shapes[s][1]; j++) {
          int64_t part[] = {i, j}, whole[] = {i, at + j}, t, u, w, x, first, zero[] = {0, at};
          layout_at(p, part, &t, &w);
          layout_at(l, whole, &u, &x);
          layout_at(l, zero, &u, &first);
          layout_at(l, whole, &u, &x);
          ck_assert_int_eq(t, u);
          ck_assert_int_eq(w, x - first);
        }
  }
  int64_t threads[] = {64, 192}, uneven[] = {128, 80}, pairs[] = {128, 4};
  ck_assert_ptr_null(layout_part(arena, l, threads));
  ck_assert_ptr_null(layout_part(arena, l, uneven));
  ck_assert_ptr_null(layout_part(arena, l, pairs));
}
END_TEST

START_TEST(conflicts) {
  int64_t off[32];
  for (int bytes = 4; bytes <= 16; bytes *= 2)
    for (int trial = 0; trial < 200; trial++) {
      int extra = 0, per = 128 / bytes;
      for (int i = 0; i < 32; i++) off[i] = rnd(64) * bytes * (1 + trial % 5);
      for (int from = 0; from < 32; from += per) {
        int worst = 1;
        for (int bank = 0; bank < 32; bank++) {
          static uint8_t hit[1 << 16];
          int count = 0;
          memset(hit, 0, sizeof hit);
          for (int i = from; i < from + per; i++)
            for (int64_t b = off[i]; b < off[i] + bytes; b += 4)
              if (b / 4 % 32 == bank && !hit[b / 4]++) count++;
          worst = count > worst ? count : worst;
        }
        extra += worst - 1;
      }
      ck_assert_int_eq(layout_conflicts(off, 32, bytes), extra);
    }
}
END_TEST

START_TEST(not_covering) {
  int64_t s[2] = {16, 16};
  Layout *l = layout_coalesced(arena, s, 2, 32, 64, 2);
  l->group[0].digit[0].stride = 1; // collides with the columns' thread digit
  ck_assert(!layout_covers(l));
  ck_assert(!covers_slow(l));
}
END_TEST

int main(void) {
  arena = arena_new();
  Suite *s = suite_create("layout");
  TCase *c = tcase_create("layout");
  tcase_set_timeout(c, 120);
  tcase_add_test(c, coalesced);
  tcase_add_test(c, separate);
  tcase_add_test(c, reshape);
  tcase_add_test(c, mma);
  tcase_add_test(c, shared);
  tcase_add_test(c, equality);
  tcase_add_test(c, permute);
  tcase_add_test(c, parts);
  tcase_add_test(c, conflicts);
  tcase_add_test(c, not_covering);
  suite_add_tcase(s, c);
  int failed = suite_run(s);
  arena_free(arena);
  return failed;
}
