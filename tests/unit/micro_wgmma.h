// Micro programs of wgmma: whole small products, every type, both places of A, majors, widths.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_MICRO_WGMMA_H
#define TLC_TESTS_MICRO_WGMMA_H

#include "micro.h"
#include "wgmma_build.h"

// How far a GPU, which truncates sums, may be off: sums of these programs stay below 256.
static inline double micro_wgmma_error(const WgmmaForm *f) {
  if (f->d == DT_I32) return 0;
  bool fp8 = dt_bits(f->a) == 8;
  if (f->d == DT_F16) return fp8 ? -0.5 : -0.25;
  return fp8 ? -0.2 : -1e-3;
}

static inline void micro_wgmma(Micros *s, WgmmaForm f) {
  const char *name =
      arena_printf(s->a, "wgmma_%s_%s_%s_%dx%dx%d%s%s%s%s%s%s", dt_name(f.d), dt_name(f.a),
                   dt_name(f.b), f.m, f.n, f.k, f.rs ? "_rs" : "", f.trans_a ? "_ta" : "",
                   f.trans_b ? "_tb" : "", f.neg_a ? "_na" : "", f.neg_b ? "_nb" : "",
                   f.keep ? "_keep" : "");
  micro_begin(s, name, 2 * f.m, 1);
  Buffer *A = micro_param(s, "A", f.a, f.m * f.k, 0), *B = micro_param(s, "B", f.b, f.n * f.k, 0);
  Buffer *C = micro_param(s, "C", f.d, f.m * f.n, micro_wgmma_error(&f));
  for (int i = 0; i < 3; i++) {
    const Buffer *b = s->m->p->params.data[i].buf;
    micro_fill_small(s, s->m->arg[i].data, b->dtype, buf_elems(b));
  }
  WgmmaForm *form = arena_copy(s->a, &f, sizeof f);
  wgmma_gemm(s->a, s->m->k, form, A, B, C);
  ir_roles(s->m->p);
}

#define MICRO_WGMMA(ta, tb, td, M, N, K, ...)                                                      \
  micro_wgmma(s, (WgmmaForm){.a = (ta), .b = (tb), .d = (td), .m = (M), .n = (N), .k = (K),        \
                             __VA_ARGS__})

// Every product, A in shared memory and in registers.
static inline void micro_wgmma_types(Micros *s) {
  static const DType types[][3] = {
      {DT_F16, DT_F16, DT_F32},    {DT_F16, DT_F16, DT_F16},    {DT_BF16, DT_BF16, DT_F32},
      {DT_F32, DT_F32, DT_F32},    {DT_E4M3, DT_E4M3, DT_F32},  {DT_E4M3, DT_E5M2, DT_F32},
      {DT_E5M2, DT_E4M3, DT_F32},  {DT_E5M2, DT_E5M2, DT_F32},  {DT_E4M3, DT_E4M3, DT_F16},
      {DT_E4M3, DT_E5M2, DT_F16},  {DT_E5M2, DT_E4M3, DT_F16},  {DT_E5M2, DT_E5M2, DT_F16},
      {DT_I8, DT_I8, DT_I32},      {DT_U8, DT_I8, DT_I32},      {DT_I8, DT_U8, DT_I32},
      {DT_U8, DT_U8, DT_I32}};
  for (size_t i = 0; i < LEN(types); i++) {
    const DType *t = types[i];
    for (int rs = 0; rs < 2; rs++)
      MICRO_WGMMA(t[0], t[1], t[2], 64, 32, 1024 / dt_bits(t[0]), .rs = rs, .keep = !rs);
  }
}

static inline void micro_wgmma_majors(Micros *s) {
  for (int i = 0; i < 4; i++) {
    MICRO_WGMMA(DT_F16, DT_F16, DT_F32, 64, 64, 64, .trans_a = i & 1, .trans_b = i & 2);
    MICRO_WGMMA(DT_BF16, DT_BF16, DT_F32, 64, 128, 32, .trans_a = i & 1, .trans_b = i & 2);
    MICRO_WGMMA(DT_F16, DT_F16, DT_F32, 128, 96, 16, .trans_a = i & 1, .trans_b = i & 2);
    MICRO_WGMMA(DT_F16, DT_F16, DT_F16, 64, 16, 48, .trans_a = i & 1, .trans_b = i & 2);
  }
  MICRO_WGMMA(DT_BF16, DT_BF16, DT_F32, 64, 192, 64, .rs = true, .trans_b = true);
  MICRO_WGMMA(DT_F16, DT_F16, DT_F32, 192, 64, 128, .trans_b = true);
}

// Panels along K, swizzles of 32 and 64 bytes, signs.
static inline void micro_wgmma_tiles(Micros *s) {
  MICRO_WGMMA(DT_F16, DT_F16, DT_F32, 128, 40, 256, .keep = true);
  MICRO_WGMMA(DT_BF16, DT_BF16, DT_F32, 64, 24, 48, .keep = true);
  MICRO_WGMMA(DT_E4M3, DT_E4M3, DT_F32, 64, 72, 192, .keep = true);
  MICRO_WGMMA(DT_I8, DT_U8, DT_I32, 128, 48, 64, .keep = true);
  MICRO_WGMMA(DT_F32, DT_F32, DT_F32, 64, 8, 64, .keep = true);
  for (int i = 1; i < 4; i++)
    MICRO_WGMMA(DT_F16, DT_F16, DT_F32, 64, 16, 32, .rs = i & 1, .neg_a = i & 1, .neg_b = i & 2,
                .keep = true);
}

static inline void micro_wgmma_widths(Micros *s) {
  for (int n = 8; n <= 256; n += 8) {
    MICRO_WGMMA(DT_F16, DT_F16, DT_F32, 64, n, 16, .rs = n % 16);
    if (layout_wgmma_n(n, true)) MICRO_WGMMA(DT_U8, DT_I8, DT_I32, 64, n, 32, .rs = n % 32);
  }
}

static inline void micro_wgmma_all(Micros *s) {
  micro_wgmma_types(s);
  micro_wgmma_majors(s);
  micro_wgmma_tiles(s);
}

#endif
