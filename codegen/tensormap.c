// Tensor maps: parameters of kernels, encoded by the launcher on the host.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

static bool is_map(const Buffer *b) { return b->scope == SC_MAP; }

bool cg_has_maps(const Program *p) {
  for (int i = 0; i < p->kernels.len; i++) {
    const Kernel *k = p->kernels.data[i];
    for (int j = 0; j < k->buffers.len; j++)
      if (is_map(k->buffers.data[j])) return true;
  }
  return false;
}

void cg_map_params(Cg *c, bool *first) {
  for (int i = 0; i < c->k->buffers.len; i++) {
    const Buffer *b = c->k->buffers.data[i];
    if (!is_map(b) || !names_of(c->names, b)->used) continue;
    cg_text(c, "%sconst __grid_constant__ CUtensorMap %s", *first ? "" : ", ",
            names_declare(c->names, b, b->name));
    *first = false;
  }
}

// Which maps does the kernel's text mention?
static bool used(Cg *c, const Kernel *k, const Buffer *b) {
  if (!is_map(b)) return false;
  Cg uses = *c;
  uses.names = names_new(c->arena);
  cg_uses(&uses, k);
  return names_of(uses.names, b)->used;
}

void cg_map_arguments(Cg *c, const Kernel *k) {
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    if (used(c, k, b)) cg_text(c, ", %s", names_of(c->names, b)->text);
  }
}

/* encoding: what cuTensorMapEncodeTiled takes, innermost first */

static const char *data_type(DType t) {
  switch (t) {
  case DT_F16: return "FLOAT16";
  case DT_BF16: return "BFLOAT16";
  case DT_F32: return "FLOAT32";
  case DT_TF32: return "FLOAT32";
  case DT_F64: return "FLOAT64";
  case DT_I32: return "INT32";
  case DT_I64: return "INT64";
  case DT_U64: return "UINT64";
  case DT_U32: return "UINT32";
  case DT_U16: case DT_I16: return "UINT16";
  default: return "UINT8"; // only moved
  }
}

static Expr *stride(Cg *c, const Buffer *b, int d) {
  if (b->strides) return b->strides[d];
  Expr *n = ex_index(c->arena, 1);
  for (int i = d + 1; i < b->ndim; i++) n = ex_mul(c->arena, n, b->shape[i]);
  return n;
}

static Expr *stride_bytes(Cg *c, const Buffer *b, int d) {
  return ex_mul(c->arena, stride(c, b, d), ex_index(c->arena, dt_bytes(b->dtype)));
}

static void ints(Cg *c, const int *list, int n) {
  cg_text(c, ", {");
  for (int i = n; i-- > 0;) cg_text(c, "%d%s", list[i], i ? ", " : "");
  cg_text(c, "}");
}

typedef struct {
  const Buffer *map;
  bool found;
} Writes;

static void note_write(void *ctx, Stmt *s) {
  Writes *w = ctx;
  if (s->kind != ST_OP || (s->u.op.op != OP_TMA_STORE && s->u.op.op != OP_TMA_REDUCE)) return;
  w->found = w->found || s->u.op.arg[1].region->buf == w->map;
}

static bool writes(const Kernel *k, const Buffer *map) {
  Writes w = {map, false};
  st_walk(k->body, note_write, &w);
  return w.found;
}

static void encode(Cg *c, const Kernel *k, const Buffer *b) {
  const TensorMap *m = b->map;
  const char *name = names_declare(c->names, b, b->name);
  bool steps = false;
  needs_add(c->needs, "tensor_map");
  cg_line(c, "CUtensorMap %s;", name);
  cg_begin(c);
  cg_text(c, "if (error == cudaSuccess) error = tlc_tensor_map(&%s, CU_TENSOR_MAP_DATA_TYPE_%s, ",
          name, data_type(b->dtype));
  cg_tensor_pointer(c, m->of);
  cg_text(c, ", %s, {", writes(k, b) ? "true" : "false");
  for (int d = b->ndim; d-- > 0;) {
    cg_expr(c, b->shape[d], P_TERNARY);
    cg_text(c, d ? ", " : "}, {");
  }
  for (int d = b->ndim - 1; d-- > 0;) {
    cg_expr(c, stride_bytes(c, b, d), P_TERNARY);
    cg_text(c, d ? ", " : "");
  }
  cg_text(c, "}");
  ints(c, m->box, b->ndim);
  for (int i = 0; i < b->ndim; i++) steps |= m->step[i] != 1;
  cg_text(c, m->swizzle ? ", CU_TENSOR_MAP_SWIZZLE_%dB" : ", CU_TENSOR_MAP_SWIZZLE_NONE",
          m->swizzle);
  cg_text(c, m->l2 ? ", CU_TENSOR_MAP_L2_PROMOTION_L2_%dB" : ", CU_TENSOR_MAP_L2_PROMOTION_NONE",
          m->l2);
  cg_text(c, ", %s", m->nan ? "CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA"
                            : "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE");
  if (steps) ints(c, m->step, b->ndim);
  cg_text(c, ");");
  cg_end(c);
}

void cg_maps(Cg *c, const Kernel *k) {
  for (int i = 0; i < k->buffers.len; i++)
    if (used(c, k, k->buffers.data[i])) encode(c, k, k->buffers.data[i]);
}

/* what a map cannot say */

static void refuse_extent(Cg *c, const Buffer *b, int d) {
  int64_t n;
  if (ex_const(b->shape[d], &n) && n <= INT64_C(1) << 32) return;
  cg_begin(c);
  cg_text(c, "if (");
  cg_expr(c, b->shape[d], P_LESS);
  cg_text(c, " > 4294967296) return \"%s has an extent of over 2^32, which TMA cannot address\";",
          b->map->of->name);
  cg_end(c);
}

static void refuse_stride(Cg *c, const Buffer *b, int d) {
  Expr *bytes = stride_bytes(c, b, d);
  int64_t n;
  if (ex_const(bytes, &n) && n % 16 == 0 && n < INT64_C(1) << 40 && n >= 0) return;
  cg_begin(c);
  cg_text(c, "if (tlc_bad_pitch(");
  needs_add(c->needs, "bad_pitch");
  cg_expr(c, bytes, P_TERNARY);
  cg_text(c, ")) return \"%s must have strides that are multiples of 16 bytes, below 2^40\";",
          b->map->of->name);
  cg_end(c);
}

void cg_refuse_maps(Cg *c, const Kernel *k) {
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    if (!used(c, k, b)) continue;
    for (int d = 0; d < b->ndim; d++) refuse_extent(c, b, d);
    for (int d = 0; d + 1 < b->ndim; d++) refuse_stride(c, b, d);
  }
  for (int i = 0; i < 3; i++) {
    if (k->cluster[i] <= 1) continue;
    if (facts_divisor(facts_new(c->arena, c->p, k), k->grid[i]) % k->cluster[i] == 0) continue;
    cg_begin(c);
    cg_text(c, "if (");
    cg_expr(c, k->grid[i], P_PRODUCT);
    cg_text(c, " %% %d) return \"the grid of %s must be a multiple of %d blocks along %c\";",
            k->cluster[i], k->name, k->cluster[i], "xyz"[i]);
    cg_end(c);
  }
}
