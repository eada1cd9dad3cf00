// T.gemm: operands, shapes and options.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

static const char *buf_name(const Buffer *b) { return b->name ? b->name : "the buffer"; }

// An operand's region and the two extents of its matrix.
static Region *matrix(Ev *ev, Call *c, int i, char what, int64_t *rows, int64_t *cols) {
  Side s;
  if (!side_of(ev, c->arg[i], c->at[i], &s))
    ev_fail(ev, DIAG_EV_GEMM_OPERAND, c->at[i], what, v_kind(ev, c->arg[i]));
  if (!s.extent) ev_fail(ev, DIAG_GEMM_ADDRESS, c->at[i], what, buf_name(s.buf));
  if (s.n < 2) ev_fail(ev, DIAG_GEMM_RANK, c->at[i], what, buf_name(s.buf), s.n);
  if (s.buf->scope == SC_GLOBAL || s.buf->scope == SC_LOCAL)
    ev_fail(ev, DIAG_GEMM_SCOPE, c->at[i], what, v_kind(ev, v_buffer(s.buf)));
  for (int d = 0; d < s.n - 2; d++) {
    if (!ex_is(s.extent[d], 1))
      ev_fail(ev, DIAG_GEMM_LEAD, c->at[i], what, d, ir_expr_str(ev->arena, s.extent[d]));
  }
  if (!ex_const(s.extent[s.n - 2], rows) || !ex_const(s.extent[s.n - 1], cols))
    ev_fail(ev, DIAG_GEMM_RT, c->at[i], what);
  return side_region(ev, &s, c->at[i]);
}

// Do A (m x k) and B (k x n) make d, transposed so?
static bool shapes_fit(const int64_t *a, const int64_t *b, const int64_t *d, bool ta, bool tb) {
  return a[!ta] == b[tb] && a[ta] == d[0] && b[!tb] == d[1];
}

// The one operand that fits turned the other way round; "" where there is none. A sparse A is not
// asked: its halved axis would be another one.
static const char *turned(Ev *ev, const Call *c, const int64_t *a, const int64_t *b,
                          const int64_t *d, bool ta, bool tb) {
  bool by_b = shapes_fit(a, b, d, ta, !tb), sparse = !strcmp(c->fn->name, "gemm_sp");
  if (!by_b && (sparse || !shapes_fit(a, b, d, !ta, tb))) return "";
  return arena_printf(ev->arena, "; transpose_%s=%s makes them fit", by_b ? "B" : "A",
                      (by_b ? tb : ta) ? "False" : "True");
}

static void check_shapes(Ev *ev, Call *c, const int64_t *a, const int64_t *b, const int64_t *d,
                         bool ta, bool tb) {
  int64_t m = ta ? a[1] : a[0], ka = ta ? a[0] : a[1], kb = tb ? b[1] : b[0], n = tb ? b[0] : b[1];
  if (shapes_fit(a, b, d, ta, tb)) return;
  ev_fail(ev, DIAG_EV_GEMM_SHAPE, c->span, (long long)a[0], (long long)a[1], ta ? "^T" : "",
          (long long)b[0], (long long)b[1], tb ? "^T" : "", (long long)d[0], (long long)d[1],
          ka == kb ? arena_printf(ev->arena, "C must be %lld x %lld", (long long)m, (long long)n)
                   : arena_printf(ev->arena, "K is %lld in A and %lld in B%s", (long long)ka,
                                  (long long)kb, turned(ev, c, a, b, d, ta, tb)));
}

static int64_t policy(Ev *ev, Call *c, int i) {
  if (!arg_given(c, i)) return POLICY_SQUARE;
  if (c->arg[i].kind != V_POLICY) ev_fail(ev, DIAG_GEMM_POLICY, c->at[i], v_brief(ev, c->arg[i]));
  return c->arg[i].i == 0 ? POLICY_SQUARE : c->arg[i].i == 1 ? POLICY_FULL_ROW : POLICY_FULL_COL;
}

Val t_gemm(Ev *ev, Call *c) {
  need_kernel(ev, c);
  for (RtBlock *r = ev->trace->rt; r; r = r->outer) {
    if (r->elements) ev_fail(ev, DIAG_TILE_IN_LOOP, c->span, c->fn->name);
  }
  int64_t a[2], b[2], d[2];
  Region *ra = matrix(ev, c, 0, 'A', &a[0], &a[1]), *rb = matrix(ev, c, 1, 'B', &b[0], &b[1]);
  Region *rc = matrix(ev, c, 2, 'C', &d[0], &d[1]);
  if (rc->buf->scope != SC_FRAGMENT || c->arg[2].kind != V_BUFFER)
    ev_fail(ev, DIAG_GEMM_C, c->at[2], v_kind(ev, c->arg[2]));
  bool ta = arg_bool(ev, c, 3, false), tb = arg_bool(ev, c, 4, false);
  check_shapes(ev, c, a, b, d, ta, tb);
  Val clear = arg_given(c, 6) ? c->arg[6] : v_bool(false);
  if (!dev_ok(clear)) (void)arg_bool(ev, c, 6, false);
  if (arg_int(ev, c, 7, 1) != 1)
    diag_remark(ev->diags, c->at[7], "gemm", "k_pack has no effect on this target");
  arg_refuse(ev, c, 8, "T.gemm(mbar=)");
  Expr *clr = ev_is_rt(clear) ? ev_cond(ev, clear, c->at[6])
                              : ex_bool(ev->arena, ev_truth(ev, clear, c->at[6]));
  ev_emit(ev, st_op(ev->arena, OP_GEMM, c->span, ra, rb, rc, (int64_t)ta, (int64_t)tb,
                    policy(ev, c, 5), ex_at(clr, c->at[6])));
  return v_none();
}

static void check_meta(Ev *ev, Call *c, const Region *a, const Region *e, int64_t m, int64_t k,
                       const int64_t *got, bool te) {
  DType t = e->buf->dtype;
  bool fits = t == DT_I8 || t == DT_I16 || t == DT_I32 || t == DT_U8 || t == DT_U16 || t == DT_U32;
  int group = dt_bits(a->buf->dtype) == 32 ? 2 : 4;
  int64_t factor = dt_bits(t) / 4 * group, rows = te ? got[1] : got[0], cols = te ? got[0] : got[1];
  if (fits && rows == m && k % factor == 0 && cols == k / factor) return;
  ev_fail(ev, DIAG_GEMM_META, c->at[1], buf_name(e->buf), dt_name(t), (long long)rows,
          (long long)cols, (long long)m, (long long)(k / factor));
}

// (A, E, B, C, transpose_A, transpose_E, transpose_B, policy, clear_accum): LANGUAGE.md 6.11.
Val t_gemm_sp(Ev *ev, Call *c) {
  need_kernel(ev, c);
  need_tile_place(ev, c);
  int64_t a[2], e[2], b[2], d[2];
  Region *ra = matrix(ev, c, 0, 'A', &a[0], &a[1]), *re = matrix(ev, c, 1, 'E', &e[0], &e[1]);
  Region *rb = matrix(ev, c, 2, 'B', &b[0], &b[1]), *rc = matrix(ev, c, 3, 'C', &d[0], &d[1]);
  if (rc->buf->scope != SC_FRAGMENT || c->arg[3].kind != V_BUFFER)
    ev_fail(ev, DIAG_GEMM_C, c->at[3], v_kind(ev, c->arg[3]));
  bool ta = arg_bool(ev, c, 4, false), te = arg_bool(ev, c, 5, false),
       tb = arg_bool(ev, c, 6, false);
  a[!ta] *= 2; // along K
  check_shapes(ev, c, a, b, d, ta, tb);
  check_meta(ev, c, ra, re, a[ta], a[!ta], e, te);
  Val clear = arg_given(c, 8) ? c->arg[8] : v_bool(false);
  if (!dev_ok(clear)) (void)arg_bool(ev, c, 8, false);
  Expr *clr = ev_is_rt(clear) ? ev_cond(ev, clear, c->at[8])
                              : ex_bool(ev->arena, ev_truth(ev, clear, c->span));
  ev_emit(ev, st_op(ev->arena, OP_GEMM_SP, c->span, ra, re, rb, rc, (int64_t)ta, (int64_t)te,
                    (int64_t)tb, policy(ev, c, 7), ex_at(clr, c->span)));
  return v_none();
}
