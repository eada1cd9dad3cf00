// Layouts of wgmma operands by brute force: register fragments by PTX's tables, shared tiles by
// decoding their descriptors and comparing every element's address.
// SPDX-License-Identifier: MIT
#include "ir/layout.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>

static Arena *arena;

static void setup(void) { arena = arena_new(); }
static void teardown(void) { arena_free(arena); }

/* registers: PTX ISA, "Register Fragments" of wgmma.mma_async.m64nNk16, k8, k32 */

static void expect_at(const Layout *l, int64_t row, int64_t col, int64_t thread, int64_t bit) {
  int64_t t, w;
  layout_at(l, (int64_t[]){row, col}, &t, &w);
  if (t == thread && w == bit) return; // ck_assert costs a system call
  ck_abort_msg("(%lld,%lld): thread %lld bit %lld, not %lld, %lld", (long long)row, (long long)col,
               (long long)t, (long long)w, (long long)thread, (long long)bit);
}

static void check_c(int m, int n, int bits, int wm, int wn) {
  const Layout *l = layout_wgmma_c(arena, m, n, bits, wm, wn, WGMMA_NONE_LOADED, 0);
  int rows = m / wm, cols = n / wn, per = cols / 2; // registers of a 64-row tile
  ck_assert(layout_covers(l));
  ck_assert_int_eq(layout_regs(l), rows / 64 * per);
  for (int thread = 0; thread < 128 * wm * wn; thread++) {
    int group = thread / 128, warp = thread % 128 / 32, lane = thread % 32;
    for (int i = 0; i < rows / 64 * per; i++) {
      int tile = i / per, d = i % per;
      int row = 64 * tile + 16 * warp + lane / 4 + (d % 4 >= 2 ? 8 : 0);
      int col = 8 * (d / 4) + lane % 4 * 2 + (d & 1);
      expect_at(l, group % wm * rows + row, group / wm * cols + col, thread, (int64_t)i * bits);
    }
  }
}

START_TEST(accumulators) {
  static const int n[] = {8, 24, 32, 80, 128, 256};
  for (size_t i = 0; i < LEN(n); i++) {
    check_c(64, n[i], 32, 1, 1);
    check_c(64, n[i], 16, 1, 1);
    check_c(128, n[i], 32, 2, 1);
    check_c(192, n[i], 32, 3, 1);
    check_c(256, n[i], 32, 2, 1);
    check_c(128, 2 * n[i], 32, 1, 2);
    check_c(128, 2 * n[i], 16, 2, 2);
  }
}
END_TEST

static void check_a(int m, int k, int bits, bool trans, int wm, int wn) {
  const Layout *l = layout_wgmma_a(arena, m, k, bits, trans, wm, wn);
  int rows = m / wm, atom = 256 / bits, e = 32 / bits, steps = (k + atom - 1) / atom;
  ck_assert(layout_covers(l));
  ck_assert_int_eq(l->nreplicas, wn > 1);
  if (wn > 1) ck_assert(l->replica[0].extent == wn && l->replica[0].stride == 128 * wm);
  for (int thread = 0; thread < 128 * wm; thread++) {
    int group = thread / 128, warp = thread % 128 / 32, g = thread % 32 / 4, q = thread % 4;
    for (int i = 0; i < rows / 64 * steps * 4 * e; i++) {
      int tile = i / (4 * e * steps), step = i / (4 * e) % steps, r = i / e % 4, x = i % e;
      int row = group * rows + 64 * tile + 16 * warp + g + 8 * (r & 1);
      int col = step * atom + e * q + x + 4 * e * (r >> 1);
      if (col >= k) continue;
      expect_at(l, trans ? col : row, trans ? row : col, thread, (int64_t)i * bits);
    }
  }
}

START_TEST(a_in_registers) {
  static const int bits[] = {8, 16, 32};
  for (int b = 0; b < 3; b++) {
    for (int trans = 0; trans < 2; trans++) {
      check_a(64, 256 / bits[b], bits[b], trans, 1, 1);
      check_a(128, 2048 / bits[b], bits[b], trans, 2, 1);
      check_a(256, 1024 / bits[b], bits[b], trans, 2, 2);
      check_a(64, 768 / bits[b], bits[b], trans, 1, 3);
    }
  }
}
END_TEST

/* an operand that threads load: rows of neighbours by 8-byte loads without bank conflicts */

// Rows by the header's words: two neighbours a thread; lanes 4 apart walk 8 columns of the second,
// fifth and third bit; warps those of the fourth and sixth.
static int64_t loaded_row(int thread, int upper) {
  int warp = thread / 32 % 4, g = thread % 32 / 4;
  return upper + g % 2 * 2 + g / 4 * 4 + warp % 2 * 8 + g / 2 % 2 * 16 + warp / 2 * 32;
}

static void check_loaded(int m, int k, int groups) {
  const Layout *l = layout_wgmma_loaded(arena, m, k, groups);
  int rows = m / groups, steps = k / 8;
  ck_assert(layout_covers(l));
  for (int thread = 0; thread < 128 * groups; thread++)
    for (int i = 0; i < rows / 64 * steps * 4; i++) {
      int64_t row = thread / 128 * rows + i / (4 * steps) * 64 + loaded_row(thread, i & 1);
      int64_t col = i / 4 % steps * 8 + thread % 4 + (i >> 1 & 1) * 4;
      expect_at(l, col, row, thread, (int64_t)i * 32);
    }
}

// The accumulator has the rows of the loaded operand and the columns of any other.
static void check_c_loaded(int m, int n, int wm, int wn, bool b, int bits) {
  const WgmmaLoaded loaded = b ? WGMMA_B_LOADED : WGMMA_A_LOADED;
  const Layout *l = layout_wgmma_c(arena, m, n, 32, wm, wn, loaded, bits);
  int rows = b ? n / wn : m / wm, cols = b ? m / wm : n / wn, per = cols / 2;
  ck_assert(layout_covers(l));
  for (int thread = 0; thread < 128 * wm * wn; thread++) {
    int gm = thread / 128 % wm, gn = thread / 128 / wm;
    for (int i = 0; i < rows / 64 * per; i++) {
      int upper = i >> 1 & 1, pair = thread / 32 % 4 * 16 + thread % 32 / 4 * 2 + upper;
      int64_t row = (b ? gn : gm) * rows + i / per * 64;
      row += bits == 8 ? pair : loaded_row(thread, upper);
      int64_t col = (b ? gm : gn) * cols + i % per / 4 * 8 + thread % 4 * 2 + (i & 1);
      expect_at(l, b ? col : row, b ? row : col, thread, (int64_t)i * 32);
    }
  }
}

START_TEST(loaded_registers) {
  check_loaded(64, 8, 1);
  check_loaded(128, 32, 1);
  check_loaded(384, 24, 2);
  for (int b = 0; b < 2; b++)
    for (int bits = 8; bits <= 32; bits += 24) {
      check_c_loaded(64, 64, 1, 1, b, bits);
      check_c_loaded(128, 192, 1, 1, b, bits);
      check_c_loaded(256, 128, 2, 1, b, bits);
      check_c_loaded(128, 256, 1, 2, b, bits);
      check_c_loaded(256, 256, 2, 2, b, bits);
    }
}
END_TEST

// Neighbours of a row in neighbouring registers, on the same threads; others stay as they are.
START_TEST(runs) {
  const Layout *c = layout_wgmma_c(arena, 128, 192, 32, 1, 1, WGMMA_B_LOADED, 32);
  const Layout *same[] = {layout_wgmma_c(arena, 128, 192, 32, 1, 1, WGMMA_A_LOADED, 32),
                          layout_mma_c(arena, 64, 64, 32, 2, 2, false, true),
                          layout_mma_b(arena, 64, 32, 32, true, 2, 2)};
  const Layout *l = layout_runs(arena, c);
  ck_assert_int_eq(layout_vector(c), 1);
  ck_assert_int_eq(layout_vector(l), 2);
  ck_assert(layout_covers(l));
  ck_assert_int_eq(layout_regs(l), layout_regs(c));
  for (int64_t i = 0; i < 128; i++)
    for (int64_t j = 0; j < 192; j++) {
      int64_t t, u, w, x;
      layout_at(c, (int64_t[]){i, j}, &t, &w);
      layout_at(l, (int64_t[]){i, j}, &u, &x);
      if (t != u || x / 32 % 2 != j % 2) ck_abort_msg("(%d,%d)", (int)i, (int)j);
    }
  for (size_t i = 0; i < LEN(same); i++)
    ck_assert(layout_equal(layout_runs(arena, same[i]), same[i]));
}
END_TEST

// What the analysis says of a tile against each element's place; conflicts of all loads.
static int check_loads(const Layout *tile, int k0, int mn0, int K, int M, int groups) {
  WgmmaLoads by;
  int conflicts = 0, rows = M / groups;
  ck_assert(layout_wgmma_loads(arena, tile, k0, mn0, K, M, groups, &by));
  for (int warp = 0; warp < 4 * groups; warp++)
    for (int i = 0; i < rows / 64 * K / 8 * 4; i += 2) {
      int64_t off[32];
      int block = i / 4 / (K / 8), step = i / 4 % (K / 8), half = i >> 1 & 1;
      for (int lane = 0; lane < 32; lane++) {
        int thread = warp * 32 + lane;
        int64_t t, where, first, second,
            c[2] = {k0 + thread % 4 + half * 4, mn0 + loaded_row(thread, 0)};
        layout_at(tile, c, &t, &first);
        c[0] += step * 8, c[1] += block * 64 + thread / 128 * rows;
        layout_at(tile, c, &t, &where);
        c[1]++;
        layout_at(tile, c, &t, &second);
        int64_t more = warp / 4 * by.group + block * by.block + step * by.step;
        if (where != first + more * 32 || second != where + 32 || where % 64)
          ck_abort_msg("thread %d, register %d", thread, i);
        off[lane] = where / 8;
      }
      conflicts += layout_conflicts(off, 32, 8);
    }
  return conflicts;
}

START_TEST(loads) {
  WgmmaLoads by;
  ck_assert_int_eq(check_loads(layout_swizzled(arena, 32, 128, 32), 0, 0, 32, 128, 2), 0);
  ck_assert_int_eq(check_loads(layout_swizzled(arena, 64, 256, 32), 8, 64, 48, 192, 1), 0);
  ck_assert_int_ne(check_loads(layout_swizzled(arena, 32, 80, 32), 0, 0, 32, 64, 1), 0); // padded
  int64_t shape[] = {16, 64};
  ck_assert_int_ne(check_loads(layout_linear(arena, shape, 2, 32), 0, 0, 16, 64, 1), 0);
  const Layout *l = layout_swizzled(arena, 32, 128, 32);
  ck_assert(!layout_wgmma_loads(arena, l, 0, 1, 32, 64, 1, &by)); // no pairs
  ck_assert_int_ne(check_loads(l, 0, 16, 32, 64, 1), -1); // from the middle of a row of chunks
  ck_assert(!layout_wgmma_loads(arena, l, 8, 0, 32, 64, 1, &by));   // outside
  ck_assert(!layout_wgmma_loads(arena, l, 0, 128, 32, 64, 1, &by)); // outside
  ck_assert(!layout_wgmma_loads(arena, layout_rows(arena, shape, 2, 32, 67 * 32), 0, 0, 16, 64, 1,
                                &by)); // pairs of odd rows begin at 4 bytes
  ck_assert(!layout_wgmma_loads(arena, layout_linear(arena, shape, 2, 16), 0, 0, 16, 64, 1, &by));
}
END_TEST

/* shared tiles: the canonical layouts of PTX's "Shared Memory Matrix Layout", written out */

static int64_t field(uint64_t desc, int at) { return (int64_t)(desc >> at & 0x3fff) << 4; }

// Address of element (mn, k) of the matrix that the descriptor gives.
static int64_t decode(uint64_t desc, bool mn_major, int bytes, int64_t mn, int64_t k) {
  static const int64_t widths[] = {16, 128, 64, 32};
  int64_t W = widths[desc >> 62], lbo = field(desc, 16), sbo = field(desc, 32), T = 16 / bytes, at;
  if (!mn_major && W == 16) at = mn % 8 * 16 + mn / 8 * sbo + k / T * lbo + k % T * bytes;
  else if (!mn_major) at = mn % 8 * W + mn / 8 * sbo + k * bytes;
  else if (W == 16) at = mn % 8 * 2 + mn / 8 * sbo + k % 8 * 16 + k / 8 * lbo;
  else at = mn % (W / 2) * 2 + mn / (W / 2) * lbo + k % 8 * W + k / 8 * sbo;
  at += field(desc, 0);
  int64_t rows = W / 16; // chunks of a row, that the row number permutes
  return at ^ (at / 128 % rows) * 16;
}

// Every matrix that an instruction may read from the tile; returns their number.
static int check_tile(const Layout *l, bool mn_major, int extent, int64_t base) {
  WgmmaTile t;
  int n = 0, bytes = l->bits / 8, dims = l->ndims;
  ck_assert(layout_wgmma_tile(l, mn_major, &t));
  ck_assert_int_eq(base % t.align, 0);
  for (int64_t mn = 0; mn < t.mn.extent; mn++) {
    for (int64_t k = 0; k < t.k.extent; k++) {
      int64_t start = layout_wgmma_start(&t, mn, k, extent);
      if (start < 0) continue;
      n++;
      uint64_t desc = (uint64_t)layout_wgmma_hi(&t) << 32 | layout_wgmma_lo(&t, base + start);
      ck_assert_uint_eq(desc & UINT64_C(0x3fffc000c000c000), 0);
      for (int i = 0; i < extent; i++) {
        for (int j = 0; j < 32 / bytes; j++) {
          int64_t c[3] = {0}, thread, where;
          c[dims - 2] = mn_major ? k + j : mn + i;
          c[dims - 1] = mn_major ? mn + i : k + j;
          layout_at(l, c, &thread, &where);
          if (decode(desc, mn_major, bytes, i, j) == base + where / 8) continue;
          ck_abort_msg("element (%d,%d) from (%lld,%lld)", i, j, (long long)mn, (long long)k);
        }
      }
    }
  }
  return n;
}

START_TEST(k_major_tiles) {
  static const int rows[] = {8, 24, 64, 80, 136, 256}, row[] = {32, 64, 96, 128, 192, 256, 384};
  static const int extents[] = {8, 24, 64, 128, 256};
  for (int bits = 8; bits <= 32; bits *= 2) {
    for (size_t r = 0; r < LEN(rows); r++) {
      for (size_t c = 0; c < LEN(row); c++) {
        const Layout *l = layout_swizzled(arena, rows[r], row[c] * 8 / bits, bits);
        for (size_t x = 0; x < LEN(extents); x++) {
          int starts = extents[x] > rows[r] ? 0 : (rows[r] - extents[x]) / 8 + 1;
          ck_assert_int_eq(check_tile(l, false, extents[x], 4096), starts * row[c] / 32);
        }
      }
    }
  }
}
END_TEST

START_TEST(mn_major_tiles) {
  static const int k[] = {16, 32, 64, 80}, width[] = {16, 32, 48, 64, 96, 128, 192, 256};
  static const int extents[] = {8, 16, 40, 64, 128, 256};
  for (size_t r = 0; r < LEN(k); r++) {
    for (size_t c = 0; c < LEN(width); c++) {
      const Layout *l = layout_swizzled(arena, k[r], width[c], 16);
      int panel = 64;
      while (width[c] % panel) panel /= 2;
      for (size_t x = 0; x < LEN(extents); x++) {
        int starts = 0; // within one panel, or from the start of one
        for (int mn = 0; mn + extents[x] <= width[c]; mn += 8)
          starts += mn % panel == 0 || mn % panel + extents[x] <= panel;
        ck_assert_int_eq(check_tile(l, true, extents[x], 2048), starts * (k[r] / 16));
      }
    }
  }
}
END_TEST

// Slots of a ring: the tile's place is added by whoever chooses the slot.
START_TEST(ring_slots) {
  int64_t shape[] = {3, 64, 64};
  const Layout *l = layout_swizzled_nd(arena, shape, 3, 16);
  ck_assert_int_eq(check_tile(l, false, 64, 8192), 4);
  ck_assert_int_eq(check_tile(l, true, 64, 8192), 4);
}
END_TEST

// Core matrices without a swizzle: rows of 16 bytes, panels apart.
static Layout *cores(int rows, int cols, int bits, int64_t panel) {
  Layout *l = layout_rows(arena, (int64_t[]){rows, cols}, 2, bits, 128);
  Digit *d = NEWN(arena, Digit, 2);
  d[0] = (Digit){128 / bits, OWN_OFFSET, bits};
  d[1] = (Digit){cols * bits / 128, OWN_OFFSET, panel * 8};
  l->group[1].digit = d;
  l->group[1].ndigits = 2;
  return l;
}

START_TEST(core_matrices) {
  for (int bits = 8; bits <= 32; bits *= 2) {
    ck_assert_int_eq(check_tile(cores(64, 512 / bits, bits, 1024), false, 64, 16), 2);
    ck_assert_int_eq(check_tile(cores(72, 256 / bits, bits, 1536), false, 64, 48), 2);
  }
  ck_assert_int_eq(check_tile(cores(32, 64, 16, 512), true, 64, 16), 2);
  ck_assert_int_eq(check_tile(cores(16, 72, 16, 272), true, 64, 0), 2);
}
END_TEST

START_TEST(refusals) {
  WgmmaTile t;
  ck_assert(!layout_wgmma_tile(layout_swizzled(arena, 64, 40, 16), false, &t)); // padded rows
  ck_assert(!layout_wgmma_tile(layout_linear(arena, (int64_t[]){64, 64}, 2, 16), false, &t));
  ck_assert(!layout_wgmma_tile(layout_swizzled(arena, 64, 64, 8), true, &t)); // 16-bit only
  ck_assert(!layout_wgmma_tile(layout_swizzled(arena, 64, 64, 32), true, &t));
  ck_assert(!layout_wgmma_tile(layout_swizzled(arena, 64, 16, 64), false, &t));
  ck_assert(
      !layout_wgmma_tile(layout_wgmma_c(arena, 64, 64, 16, 1, 1, WGMMA_NONE_LOADED, 0), false, &t));
  ck_assert(layout_wgmma_tile(layout_swizzled(arena, 128, 64, 16), false, &t));
  ck_assert_int_eq(layout_wgmma_start(&t, 4, 0, 64), -1);  // rows within a core matrix
  ck_assert_int_eq(layout_wgmma_start(&t, 0, 8, 64), -1);  // half a step
  ck_assert_int_eq(layout_wgmma_start(&t, 72, 0, 64), -1); // past the end
  ck_assert_int_eq(layout_wgmma_start(&t, 0, 64, 64), -1);
  ck_assert_int_eq(layout_wgmma_start(&t, 64, 48, 64), 64 * 128 + 96);
  ck_assert(layout_wgmma_tile(layout_swizzled(arena, 64, 128, 16), true, &t));
  ck_assert_int_eq(layout_wgmma_start(&t, 32, 0, 64), -1); // across panels from inside one
  ck_assert_int_eq(layout_wgmma_start(&t, 64, 16, 64), 64 * 128 + 16 * 128);
}
END_TEST

// HOPPER 2.1's constants.
START_TEST(high_words) {
  WgmmaTile t;
  static const struct {
    int cols;
    uint32_t hi;
  } known[] = {{64, 0x40000040}, {32, 0x80000020}, {16, 0xC0000010}};
  for (int i = 0; i < 3; i++) {
    ck_assert(layout_wgmma_tile(layout_swizzled(arena, 64, known[i].cols, 16), false, &t));
    ck_assert_uint_eq(layout_wgmma_hi(&t), known[i].hi);
    ck_assert_uint_eq(layout_wgmma_lo(&t, 0x1c400), 0x1c40 | 1 << 16);
  }
}
END_TEST

START_TEST(columns) {
  int floats = 0, ints = 0;
  for (int n = -8; n < 300; n++) {
    floats += layout_wgmma_n(n, false);
    ints += layout_wgmma_n(n, true);
    if (layout_wgmma_n(n, true)) ck_assert(layout_wgmma_n(n, false));
  }
  ck_assert_int_eq(floats, 32);
  ck_assert_int_eq(ints, 4 + 14); // 8, 16, 24, 32; 48 to 256 by 16
  ck_assert(layout_wgmma_n(24, true) && !layout_wgmma_n(40, true) && layout_wgmma_n(48, true));
}
END_TEST

int main(void) {
  const TTest *tests[] = {accumulators, a_in_registers,   k_major_tiles, mn_major_tiles,
                          ring_slots,   core_matrices,    refusals,      high_words,
                          columns,      loaded_registers, runs,          loads};
  Suite *s = suite_create("layout_wgmma");
  TCase *t = tcase_create("all");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  for (size_t i = 0; i < LEN(tests); i++) tcase_add_test(t, tests[i]);
  suite_add_tcase(s, t);
  return suite_run(s);
}
