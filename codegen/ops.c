// THREAD-level ops as calls of device helpers.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

void cg_address(Cg *c, const Region *r) {
  const Name *name = names_of(c->names, r->buf);
  int64_t at;
  if (!name->text) die("buffer %s is not declared", r->buf->name);
  if (name->scalar) cg_text(c, "&%s", name->text);
  else if (ex_const(r->min[0], &at) && at == 0) cg_text(c, "%s", name->text);
  else {
    cg_text(c, "&%s[", name->text);
    cg_expr(c, r->min[0], P_TERNARY);
    cg_text(c, "]");
  }
}

void cg_element(Cg *c, const Region *r) {
  const Name *name = names_of(c->names, r->buf);
  if (!name->text) die("buffer %s is not declared", r->buf->name);
  cg_text(c, "%s", name->text);
  if (name->scalar) return;
  cg_text(c, "[");
  cg_expr(c, r->min[0], P_TERNARY);
  cg_text(c, "]");
}

int cg_count(const Region *r) {
  int64_t n;
  if (r->n != 1 || !ex_const(r->extent[0], &n))
    die("%s: not a flat region of constant extent", r->buf->name);
  return (int)n;
}

static int bytes(const Region *r) { return cg_count(r) * dt_bytes(r->buf->dtype); }

static void sync(Cg *c, const Stmt *s) { cg_line(c, "__syncthreads();"); }

static void commit(Cg *c, const Stmt *s) {
  needs_add(c->needs, "cp_async_commit");
  cg_line(c, "tlc_cp_async_commit();");
}

static void wait(Cg *c, const Stmt *s) {
  needs_add(c->needs, "cp_async_wait");
  cg_line(c, "tlc_cp_async_wait<%d>();", (int)s->u.op.arg[0].i);
}

static void two_places(Cg *c, const char *name, const Region *first, const Region *second) {
  needs_add(c->needs, "%s", name);
  cg_begin(c);
  cg_text(c, "tlc_%s(", name);
  cg_address(c, first);
  cg_text(c, ", ");
  cg_address(c, second);
}

static void call_end(Cg *c) {
  cg_text(c, ");");
  cg_end(c);
}

static void vmov(Cg *c, const Stmt *s) {
  const Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  bool to_memory = dst->buf->scope != SC_LOCAL;
  two_places(c, arena_printf(c->arena, "%s_%d", to_memory ? "store" : "load", bytes(dst)), dst,
             src);
  call_end(c);
}

// The bytes to read of a copy: `valid` elements; constants of a select are multiplied in place.
static Expr *valid_bytes(Arena *a, Expr *valid, int size) {
  int64_t yes, no;
  if (valid->kind == EX_SELECT && ex_const(valid->u.sel.yes, &yes) &&
      ex_const(valid->u.sel.no, &no))
    return ex_select(a, valid->u.sel.cond, ex_index(a, yes * size), ex_index(a, no * size));
  return ex_mul(a, valid, ex_index(a, size));
}

static void cp_async(Cg *c, const Stmt *s) {
  const Region *src = s->u.op.arg[0].region, *dst = s->u.op.arg[1].region;
  Expr *valid = s->u.op.arg[2].expr;
  bool whole = ex_is(valid, cg_count(src));
  two_places(c, arena_printf(c->arena, "cp_async%s_%d", whole ? "" : "_zfill", bytes(dst)), dst,
             src);
  if (!whole) {
    cg_text(c, ", ");
    cg_expr(c, valid_bytes(c->arena, valid, dt_bytes(src->buf->dtype)), P_TERNARY);
  }
  call_end(c);
}

static void ldmatrix(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  const char *trans = arg[3].i ? "_trans" : "";
  two_places(c, arena_printf(c->arena, "ldmatrix%s_x%d", trans, (int)arg[2].i), arg[1].region,
             arg[0].region);
  call_end(c);
}

static void byte_perm(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  two_places(c, "byte_perm", arg[1].region, arg[0].region);
  cg_text(c, ", ");
  cg_value(c, arg[2].expr, DT_U32, P_TERNARY);
  call_end(c);
}

static void unpack(Cg *c, const Stmt *s) {
  static const char *const kinds[] = {"i4", "u4", "e2m1"};
  const Arg *arg = s->u.op.arg;
  const char *to = cg_short(arg[1].region->buf->dtype);
  two_places(c, arena_printf(c->arena, "unpack_%s_%s", kinds[arg[2].i], to), arg[1].region,
             arg[0].region);
  call_end(c);
}

static const char *mma_type(const Region *r, int k) {
  DType t = r->buf->dtype;
  return k == 8 && (t == DT_F32 || t == DT_TF32) ? "tf32" : cg_short(t);
}

static void mma(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  const Region *a = arg[0].region, *b = arg[1].region, *d = arg[2].region;
  int m = (int)arg[3].i, n = (int)arg[4].i, k = (int)arg[5].i;
  needs_add(c->needs, "mma_m%dn%dk%d_%s_%s_%s", m, n, k, cg_short(d->buf->dtype), mma_type(a, k),
            mma_type(b, k));
  cg_begin(c);
  cg_text(c, "tlc_mma_m%dn%dk%d(", m, n, k);
  cg_address(c, d);
  cg_text(c, ", ");
  cg_address(c, a);
  cg_text(c, ", ");
  cg_address(c, b);
  call_end(c);
}

static void philox(Cg *c, const Stmt *s) {
  const Arg *arg = s->u.op.arg;
  two_places(c, "philox", arg[0].region, arg[1].region);
  for (int i = 2; i < 7; i++) {
    cg_text(c, ", ");
    if (i < 4) cg_address(c, arg[i].region);
    else cg_value(c, arg[i].expr, DT_U64, P_TERNARY);
  }
  call_end(c);
}

static Region *part(Cg *c, const Region *r, int at, int n) {
  return region_flat(c->arena, r->buf, ex_add(c->arena, r->min[0], ex_index(c->arena, at)), n);
}

// The widest vector forms that cover the run; elements one by one where the type has none.
static void vatomic(Cg *c, const Stmt *s) {
  const Region *dst = s->u.op.arg[0].region, *src = s->u.op.arg[1].region;
  DType t = dst->buf->dtype;
  const char *name = cg_atomic_name((AtomicFn)s->u.op.arg[2].i);
  int n = cg_count(dst), unit = 1;
  if (s->u.op.arg[2].i == ATOMIC_ADD && t == src->buf->dtype) {
    if (t == DT_F32) unit = n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1;
    if (t == DT_F16 || t == DT_BF16) unit = n % 2 == 0 ? 2 : 1;
  }
  for (int i = 0; i < n; i += unit) {
    Region *to = part(c, dst, i, unit), *from = part(c, src, i, unit);
    const char *form = unit > 1 ? arena_printf(c->arena, "%s_x%d", name, unit) : name;
    needs_add(c->needs, "%s_%s", form, cg_short(t));
    cg_begin(c);
    cg_text(c, "tlc_%s(", form);
    cg_address(c, to);
    cg_text(c, ", ");
    if (unit > 1) cg_address(c, from);
    else cg_value(c, ex_load(c->arena, from->buf, from->min, 1), t, P_TERNARY);
    call_end(c);
  }
}

static void (*const emit[OP_COUNT])(Cg *c, const Stmt *s) = {
    [OP_SYNC] = sync,           [OP_ASYNC_COMMIT] = commit,
    [OP_ASYNC_WAIT] = wait,     [OP_VMOV] = vmov,
    [OP_CP_ASYNC] = cp_async,   [OP_LDMATRIX] = ldmatrix,
    [OP_BYTE_PERM] = byte_perm, [OP_MMA] = mma,
    [OP_UNPACK] = unpack,
    [OP_SHUFFLE] = cg_shuffle,  [OP_ATOMIC] = cg_atomic,
    [OP_VATOMIC] = vatomic,     [OP_ATOMIC_LOAD] = cg_atomic_load,
    [OP_VOTE] = cg_vote,        [OP_BLOCK_VOTE] = cg_vote,
    [OP_PRINT] = cg_print,      [OP_ASSERT] = cg_assert,
    [OP_EXTERN] = cg_extern,    [OP_PHILOX] = philox,
    [OP_MATCH] = cg_match,      [OP_FIND_BIT] = cg_find_bit,
};

void cg_op(Cg *c, const Stmt *s) {
  if (cg_sm90_op(c, s) || cg_wgmma_op(c, s)) return;
  if (!emit[s->u.op.op]) die("%s is not a THREAD-level op", op_info(s->u.op.op)->name);
  emit[s->u.op.op](c, s);
}
