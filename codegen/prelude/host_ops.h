// Host twins of the device helpers that are PTX: the same names, written from the PTX documents.
// SPDX-License-Identifier: 0BSD

/* ---------------------------------------------------------------- asynchronous copies */

static inline void tlc_host_copy_now(const tlc_host_copy &c) {
  memcpy(c.to, c.from, size_t(c.bytes));
  memset(static_cast<unsigned char *>(c.to) + c.bytes, 0, size_t(c.size - c.bytes));
}

static inline void tlc_host_cp_async(void *smem, const void *global, int size, int bytes) {
  const bool aligned = reinterpret_cast<uintptr_t>(smem) % uintptr_t(size) == 0 &&
                       reinterpret_cast<uintptr_t>(global) % uintptr_t(size) == 0;
  if (!aligned || bytes < 0 || bytes > size) tlc_host_fail("cp.async: misaligned, or a wrong size");
  static const bool eager = getenv("TLC_HOST_EAGER") != nullptr;
  tlc_host_fiber &f = tlc_host.fiber[tlc_host.current];
  const tlc_host_copy copy = {smem, global, size, bytes, f.group};
  if (eager) tlc_host_copy_now(copy);
  else f.copies.push_back(copy);
}

static inline void tlc_cp_async_4(void *s, const void *g) { tlc_host_cp_async(s, g, 4, 4); }
static inline void tlc_cp_async_8(void *s, const void *g) { tlc_host_cp_async(s, g, 8, 8); }
static inline void tlc_cp_async_16(void *s, const void *g) { tlc_host_cp_async(s, g, 16, 16); }
static inline void tlc_cp_async_zfill_4(void *s, const void *g, int n) {
  tlc_host_cp_async(s, g, 4, n);
}
static inline void tlc_cp_async_zfill_8(void *s, const void *g, int n) {
  tlc_host_cp_async(s, g, 8, n);
}
static inline void tlc_cp_async_zfill_16(void *s, const void *g, int n) {
  tlc_host_cp_async(s, g, 16, n);
}
static inline void tlc_cp_async_commit() { tlc_host.fiber[tlc_host.current].group++; }

template <int N>
static inline void tlc_cp_async_wait() {
  tlc_host_fiber &f = tlc_host.fiber[tlc_host.current];
  size_t kept = 0;
  for (const tlc_host_copy &c : f.copies) {
    if (c.group < f.group - N) tlc_host_copy_now(c);
    else f.copies[kept++] = c;
  }
  f.copies.resize(kept);
}

[[noreturn]] static inline void tlc_trap() { tlc_host_fail("an assumption does not hold"); }

/* ---------------------------------------------------------------- ldmatrix */

struct tlc_host_ldmatrix {
  unsigned char *reg;
  const unsigned char *smem;
  int num;
  bool trans;
};

// Lane l of matrix m gets row l / 4, columns 2 (l % 4) and the next; transposed: the mirror cell.
static void tlc_host_ldmatrix_warp(void *const *lanes) {
  for (int l = 0; l < 32; l++) {
    const tlc_host_ldmatrix *mine = static_cast<const tlc_host_ldmatrix *>(lanes[l]);
    for (int i = 0; i < 2 * mine->num; i++) {
      const int matrix = i / 2, a = l / 4, b = l % 4 * 2 + i % 2;
      const int row = mine->trans ? b : a, column = mine->trans ? a : b;
      const unsigned char *from =
          static_cast<const tlc_host_ldmatrix *>(lanes[8 * matrix + row])->smem;
      if (reinterpret_cast<uintptr_t>(from) % 16) tlc_host_fail("ldmatrix: a misaligned row");
      memcpy(mine->reg + 2 * i, from + 2 * column, 2);
    }
  }
}

static inline void tlc_host_ldmatrix_lane(void *reg, const void *smem, int num, bool trans) {
  tlc_host_ldmatrix mine = {static_cast<unsigned char *>(reg),
                            static_cast<const unsigned char *>(smem), num, trans};
  tlc_host_collective(tlc_host_ldmatrix_warp, &mine);
}

static inline void tlc_ldmatrix_x1(void *r, const void *s) {
  tlc_host_ldmatrix_lane(r, s, 1, false);
}
static inline void tlc_ldmatrix_x2(void *r, const void *s) {
  tlc_host_ldmatrix_lane(r, s, 2, false);
}
static inline void tlc_ldmatrix_x4(void *r, const void *s) {
  tlc_host_ldmatrix_lane(r, s, 4, false);
}
static inline void tlc_ldmatrix_trans_x1(void *r, const void *s) {
  tlc_host_ldmatrix_lane(r, s, 1, true);
}
static inline void tlc_ldmatrix_trans_x2(void *r, const void *s) {
  tlc_host_ldmatrix_lane(r, s, 2, true);
}
static inline void tlc_ldmatrix_trans_x4(void *r, const void *s) {
  tlc_host_ldmatrix_lane(r, s, 4, true);
}

static inline void tlc_byte_perm(void *dst, const void *src, uint32_t sel) {
  unsigned char out[4];
  for (int i = 0; i < 4; i++) out[i] = static_cast<const unsigned char *>(src)[sel >> 4 * i & 7];
  memcpy(dst, out, 4);
}

// kind: 0 int4, 1 uint4, 2 e2m1
static inline void tlc_host_unpack(void *dst, const void *src, int kind, bool f16) {
  static const float e2m1[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  for (int i = 0; i < 8; i++) {
    const int n = static_cast<const unsigned char *>(src)[i / 2] >> i % 2 * 4 & 15;
    const float size = kind == 2 ? e2m1[n & 7] : float(kind == 0 && n > 7 ? n - 16 : n);
    const float v = kind == 2 && n > 7 ? -size : size;
    const unsigned short bits =
        f16 ? __half_as_ushort(__float2half_rn(v)) : __bfloat16_as_ushort(__float2bfloat16_rn(v));
    memcpy(static_cast<unsigned char *>(dst) + 2 * i, &bits, 2);
  }
}

static inline void tlc_unpack_i4_f16(void *d, const void *s) { tlc_host_unpack(d, s, 0, true); }
static inline void tlc_unpack_u4_f16(void *d, const void *s) { tlc_host_unpack(d, s, 1, true); }
static inline void tlc_unpack_e2m1_f16(void *d, const void *s) { tlc_host_unpack(d, s, 2, true); }
static inline void tlc_unpack_i4_bf16(void *d, const void *s) { tlc_host_unpack(d, s, 0, false); }
static inline void tlc_unpack_u4_bf16(void *d, const void *s) { tlc_host_unpack(d, s, 1, false); }
static inline void tlc_unpack_e2m1_bf16(void *d, const void *s) { tlc_host_unpack(d, s, 2, false); }

/* ---------------------------------------------------------------- mma */

static inline double tlc_host_operand(__half x) { return __half2float(x); }
static inline double tlc_host_operand(__nv_bfloat16 x) { return __bfloat162float(x); }
static inline double tlc_host_operand(int8_t x) { return x; }
static inline double tlc_host_operand(uint8_t x) { return x; }
static inline double tlc_host_operand(int32_t x) { return x; }
static inline double tlc_host_operand(float x) { return x; }
static inline double tlc_host_tf32(double x) { // the unit sees the upper 19 bits
  return __uint_as_float(__float_as_uint(float(x)) & 0xffffe000u);
}
static inline void tlc_host_set(float *d, double x) { *d = float(x); }
static inline void tlc_host_set(__half *d, double x) { *d = tlc_host_half(x); }
static inline void tlc_host_set(int32_t *d, double x) {
  *d = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(x)));
}

template <typename D, typename A, typename B>
struct tlc_host_mma {
  D *d;
  const A *a;
  const B *b;
};

// d += a * b of m16n8kK. A lane l = 4 g + q holds runs of E = K / 8 (16 and 8 bits: K / 8; tf32: 1)
// consecutive k: of a, rows g and g + 8 from k = E q, then the same from E q + K / 2; of b, column
// g alike; of d, columns 2 q and 2 q + 1 of rows g and g + 8.
template <typename D, typename A, typename B, int K, bool TF32>
static void tlc_host_mma_warp(void *const *lanes) {
  typedef tlc_host_mma<D, A, B> Lane;
  constexpr int E = K / 8;
  static double a[16][K], b[K][8];
  for (int l = 0; l < 32; l++) {
    const Lane *mine = static_cast<const Lane *>(lanes[l]);
    const int g = l / 4, q = l % 4;
    for (int half = 0; half < 2; half++) {
      for (int e = 0; e < E; e++) {
        const int k = half * K / 2 + E * q + e;
        a[g][k] = tlc_host_operand(mine->a[2 * half * E + e]);
        a[g + 8][k] = tlc_host_operand(mine->a[2 * half * E + E + e]);
        b[k][g] = tlc_host_operand(mine->b[half * E + e]);
      }
    }
  }
  for (int l = 0; l < 32; l++) {
    const Lane *mine = static_cast<const Lane *>(lanes[l]);
    for (int i = 0; i < 4; i++) {
      const int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
      double sum = tlc_host_operand(mine->d[i]);
      for (int k = 0; k < K; k++) {
        sum += TF32 ? tlc_host_tf32(a[row][k]) * tlc_host_tf32(b[k][column])
                    : a[row][k] * b[k][column];
      }
      tlc_host_set(&mine->d[i], sum);
    }
  }
}

template <int K, bool TF32, typename D, typename A, typename B>
static inline void tlc_host_mma_lane(D *d, const A *a, const B *b) {
  tlc_host_mma<D, A, B> mine = {d, a, b};
  tlc_host_collective(tlc_host_mma_warp<D, A, B, K, TF32>, &mine);
}

template <typename D, typename A, typename B>
static inline void tlc_mma_m16n8k16(D *d, const A *a, const B *b) {
  tlc_host_mma_lane<16, false>(d, a, b);
}
template <typename D, typename A, typename B>
static inline void tlc_mma_m16n8k8(D *d, const A *a, const B *b) {
  tlc_host_mma_lane<8, true>(d, a, b);
}
template <typename D, typename A, typename B>
static inline void tlc_mma_m16n8k32(D *d, const A *a, const B *b) {
  tlc_host_mma_lane<32, false>(d, a, b);
}

/* ---------------------------------------------------------------- float */

static inline float tlc_add(float a, float b) { return a + b; }
static inline float tlc_sub(float a, float b) { return a - b; }
static inline float tlc_mul(float a, float b) { return a * b; }
static inline float tlc_div(float a, float b) { return a / b; }
static inline float tlc_min(float a, float b) { return tlc_host_pick(a, b, true); }
static inline float tlc_max(float a, float b) { return tlc_host_pick(a, b, false); }
static inline bool tlc_lt(float a, float b) { return a < b; }
static inline bool tlc_le(float a, float b) { return a <= b; }
static inline bool tlc_eq(float a, float b) { return a == b; }
static inline bool tlc_ne(float a, float b) { return a != b; }
static inline float tlc_f32(double x) { return float(x); }
static inline double tlc_f64(float x) { return x; }
static inline float tlc_tf32(float x) {
  const uint32_t u = __float_as_uint(x);
  return std::isfinite(x) ? __uint_as_float((u + 0x1000u) & 0xffffe000u) : x;
}
static inline float tlc_fma(float a, float b, float c) { return std::fma(a, b, c); }
static inline float tlc_exp2(float a) { return std::exp2(a); }
static inline float tlc_exp2_flush(float a) {
  const float d = std::exp2(a);
  return d < 0x1p-126f ? 0.0f : d;
}
static inline float tlc_sqrt(float a) { return std::sqrt(a); }
static inline float tlc_rsqrt(float a) { return float(1.0 / std::sqrt(double(a))); }
static inline float tlc_floor(float a) { return std::floor(a); }
static inline float tlc_ceil(float a) { return std::ceil(a); }
static inline float tlc_round(float a) { return std::nearbyint(a); }
