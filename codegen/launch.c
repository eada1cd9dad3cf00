// The launcher, and <symbol>_check.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <string.h>

/* ------------------------------------------------------------------ the C interface */

bool cg_is_written(const Param *p) {
  return p->role != ROLE_IN;
}

int cg_align(const Buffer *b) {
  return b->align > 0 ? b->align : 16;
}

const Buffer *cg_shape(const Cg *c, int param) {
  const Program *p = c->o->source ? c->o->source : c->p;
  return p->params.data[param].buf;
}

const char *cg_param_name(Cg *c, const Param *p) {
  return names_of(c->names, p->kind == PARAM_TENSOR ? (const void *)p->buf : p->var)->text;
}

void cg_params(Cg *c) {
  const Program *p = c->p;
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (i) cg_text(c, ", ");
    if (q->kind == PARAM_SCALAR) cg_text(c, "%s ", dt_abi(q->var->type));
    else cg_text(c, cg_is_written(q) ? "void *" : "const void *");
    cg_text(c, "%s", cg_param_name(c, q));
  }
  for (int i = 0; i < p->sizes.len; i++)
    cg_text(c, "%sint64_t %s", i || p->params.len ? ", " : "",
            names_of(c->names, p->sizes.data[i])->text);
  if (cg_has_workspace(c))
    cg_text(c, "%svoid *%s", p->sizes.len + p->params.len ? ", " : "", cg_workspace_name(c));
}

// Has the launcher parameters before the stream?
bool cg_has_params(const Cg *c) {
  return c->p->params.len + c->p->sizes.len + c->p->workspaces.len > 0;
}

void cg_arguments(Cg *c) {
  const Program *p = c->p;
  for (int i = 0; i < p->params.len; i++)
    cg_text(c, "%s%s", i ? ", " : "", cg_param_name(c, &p->params.data[i]));
  for (int i = 0; i < p->sizes.len; i++)
    cg_text(c, "%s%s", i || p->params.len ? ", " : "", names_of(c->names, p->sizes.data[i])->text);
  if (cg_has_workspace(c))
    cg_text(c, "%s%s", p->sizes.len + p->params.len ? ", " : "", cg_workspace_name(c));
}

/* ------------------------------------------------------------------ extents */

// The sizes of the TILE-level program answer to the same names.
static void link_source(Cg *c) {
  const Program *s = c->o->source;
  if (!s) return;
  for (int i = 0; i < s->sizes.len && i < c->p->sizes.len; i++)
    names_of(c->names, s->sizes.data[i])->text = names_of(c->names, c->p->sizes.data[i])->text;
  for (int i = 0; i < s->params.len && i < c->p->params.len; i++) {
    const Param *from = &c->p->params.data[i], *to = &s->params.data[i];
    if (to->kind == PARAM_SCALAR) names_of(c->names, to->var)->text = cg_param_name(c, from);
  }
}

bool cg_constant_bytes(const Buffer *b, int64_t *bytes) {
  *bytes = dt_bits(b->dtype);
  for (int i = 0; i < b->ndim; i++) {
    int64_t n;
    if (!ex_const(b->shape[i], &n)) return false;
    *bytes *= n;
  }
  *bytes /= 8;
  return !b->strides;
}

// From the first element to the last, inclusive; nothing where a dimension is empty.
static void strided_bytes(Cg *c, const Buffer *b) {
  bool first = true;
  for (int i = 0; i < b->ndim; i++) {
    int64_t n;
    if (ex_const(b->shape[i], &n) && n > 0) continue;
    cg_text(c, "%s", first ? "" : " || ");
    cg_expr(c, b->shape[i], P_LESS);
    cg_text(c, " <= 0");
    first = false;
  }
  cg_text(c, "%s(1", first ? "" : " ? 0 : ");
  for (int i = 0; i < b->ndim; i++) {
    cg_text(c, " + (");
    cg_expr(c, b->shape[i], P_SUM);
    cg_text(c, " - 1) * ");
    cg_expr(c, b->strides[i], P_UNARY);
  }
  if (dt_bits(b->dtype) < 8) cg_text(c, " + 1) / 2"); // of an even number, the last element's byte
  else cg_text(c, ") * %d", dt_bytes(b->dtype));
}

void cg_buffer_bytes(Cg *c, const Buffer *b) {
  int64_t bytes;
  if (cg_constant_bytes(b, &bytes)) {
    cg_text(c, "%lld%s", (long long)bytes, bytes > INT32_MAX ? "LL" : "");
  } else if (b->strides) {
    strided_bytes(c, b);
  } else {
    needs_add(c->needs, "bytes");
    bool pairs = dt_bits(b->dtype) < 8; // of an even last dimension
    cg_text(c, "tlc_bytes(%d, {", pairs ? 1 : dt_bytes(b->dtype));
    for (int i = 0; i < b->ndim; i++) {
      if (i) cg_text(c, ", ");
      Expr *n = b->shape[i];
      if (pairs && i == b->ndim - 1) n = ex_floordiv(c->arena, n, ex_index(c->arena, 2));
      cg_expr(c, n, P_TERNARY);
    }
    cg_text(c, "})");
  }
}

/* ------------------------------------------------------------------ launches */

static void kernel_argument(Cg *c, const Param *p, const Name *in_kernel) {
  DType t = p->kind == PARAM_TENSOR ? p->buf->dtype : p->var->type;
  const char *n = cg_param_name(c, p);
  if (p->kind == PARAM_TENSOR)
    cg_text(c, "static_cast<%s%s *>(%s)", in_kernel->written ? "" : "const ", cg_type(t), n);
  else if (t == DT_F16 || t == DT_BF16)
    cg_text(c, "static_cast<%s>(%s_raw{%s})", cg_type(t), cg_type(t), n);
  else cg_text(c, "%s", n);
}

static void kernel_arguments(Cg *c, const Kernel *k) {
  Cg uses = *c;
  uses.names = names_new(c->arena);
  cg_uses(&uses, k);
  for (int i = 0; i < c->p->params.len; i++) {
    const Param *p = &c->p->params.data[i];
    const Name *name =
        names_of(uses.names, p->kind == PARAM_TENSOR ? (const void *)p->buf : p->var);
    if (!name->used) continue;
    cg_text(c, ", ");
    kernel_argument(c, p, name);
  }
  for (int i = 0; i < c->p->sizes.len; i++) {
    const Var *v = c->p->sizes.data[i];
    if (names_of(uses.names, v)->used)
      cg_text(c, ", static_cast<int>(%s)", names_of(c->names, v)->text);
  }
  for (int i = 0; i < c->p->workspaces.len; i++) {
    const Name *name = names_of(uses.names, c->p->workspaces.data[i]);
    if (!name->used) continue;
    cg_text(c, ", ");
    cg_workspace_argument(c, i, name->written);
  }
  cg_map_arguments(c, k);
}

void cg_tensor_pointer(Cg *c, const Buffer *b) {
  for (int i = 0; i < c->p->params.len; i++) {
    if (c->p->params.data[i].buf != b) continue;
    cg_text(c, "%s", cg_param_name(c, &c->p->params.data[i]));
    return;
  }
  for (int i = 0; i < c->p->workspaces.len; i++) {
    if (c->p->workspaces.data[i] != b) continue;
    cg_workspace_argument(c, i, true);
    return;
  }
  die("a map of '%s', which is no tensor of the program", b->name);
}

static bool never_empty(const Kernel *k) {
  int64_t n;
  for (int i = 0; i < 3; i++) {
    if (!ex_const(k->grid[i], &n) || n <= 0) return false;
  }
  return true;
}

// The condition of a launch: no earlier error, and some block to run. False, and nothing written,
// where there is none.
static bool launch_condition(Cg *c, const Kernel *k, bool may_have_failed) {
  int64_t n;
  const char *lead = "if (";
  if (!may_have_failed && never_empty(k)) return false;
  cg_begin(c);
  if (may_have_failed) {
    cg_text(c, "if (error == cudaSuccess");
    lead = " && ";
  }
  for (int i = 0; i < 3; i++) {
    if (ex_const(k->grid[i], &n) && n > 0) continue;
    cg_text(c, "%s", lead);
    cg_expr(c, k->grid[i], P_SHIFT);
    cg_text(c, " > 0");
    lead = " && ";
  }
  cg_text(c, ") {");
  cg_end(c);
  c->indent++;
  return true;
}

// Has the kernel before k run? One that waits late starts early only beside that: what is before
// both is complete then.
static void launched(Cg *c, const Kernel *k) {
  int at = 0;
  while (c->p->kernels.data[at] != k) at++;
  const char *lead = "";
  for (int i = 0; i < 3 && kernel_waits_late(k) && at > 0; i++) {
    Expr *n = c->p->kernels.data[at - 1]->grid[i];
    int64_t blocks;
    if (ex_const(n, &blocks) && blocks > 0) continue;
    cg_text(c, "%s", lead);
    cg_expr(c, n, P_SHIFT);
    cg_text(c, " > 0");
    lead = " && ";
  }
  if (!*lead) cg_text(c, "1");
}

// How it is launched beside grid and block: in clusters, before the kernels ahead of it have ended.
static void launch_attributes(Cg *c, const Kernel *k) {
  bool early = st_has_op(k->body, OP_GRID_WAIT), clustered = kernel_cluster(k) > 1;
  int n = early + clustered, i = 0;
  if (!n) return;
  cg_line(c, "cudaLaunchAttribute attribute[%d] = {};", n);
  if (clustered) {
    cg_line(c, "attribute[%d].id = cudaLaunchAttributeClusterDimension;", i);
    for (int d = 0; d < 3; d++)
      cg_line(c, "attribute[%d].val.clusterDim.%c = %d;", i, "xyz"[d],
              k->cluster[d] > 0 ? k->cluster[d] : 1);
    i++;
  }
  if (early) {
    cg_line(c, "attribute[%d].id = cudaLaunchAttributeProgrammaticStreamSerialization;", i);
    cg_begin(c);
    cg_text(c, "attribute[%d].val.programmaticStreamSerializationAllowed = ", i);
    launched(c, k);
    cg_text(c, ";");
    cg_end(c);
  }
  cg_line(c, "config.attrs = attribute;");
  cg_line(c, "config.numAttrs = %d;", n);
}

static void launch_grid(Cg *c, const Kernel *k) {
  cg_begin(c);
  cg_text(c, "config.gridDim = dim3(");
  for (int i = 0; i < 3; i++) {
    int64_t n;
    bool constant = ex_const(k->grid[i], &n);
    cg_text(c, "%s%s", i ? ", " : "", constant ? "" : "static_cast<unsigned>(");
    cg_expr(c, k->grid[i], P_TERNARY);
    if (!constant) cg_text(c, ")");
  }
  cg_text(c, ");");
  cg_end(c);
}

// A persistent kernel: a block for every multiprocessor, or for every tile where those are fewer.
static void launch_workers(Cg *c, const Kernel *k) {
  needs_add(c->needs, "workers");
  cg_begin(c);
  cg_text(c, "config.gridDim = dim3(tlc_workers(");
  cg_expr(c, k->grid[0], P_TERNARY);
  cg_text(c, ", %d));", kernel_cluster(k));
  cg_end(c);
}

static void launch(Cg *c, const Kernel *k, bool may_have_failed) {
  int names = names_mark(c->names);
  bool nested = launch_condition(c, k, may_have_failed);
  cg_line(c, "cudaLaunchConfig_t config = {};");
  if (k->workers) launch_workers(c, k);
  else launch_grid(c, k);
  cg_line(c, "config.blockDim = dim3(%d);", kernel_threads(k));
  if (k->smem_bytes) cg_line(c, "config.dynamicSmemBytes = %lld;", (long long)k->smem_bytes);
  cg_line(c, "config.stream = stream;");
  launch_attributes(c, k);
  cg_maps(c, k);
  bool checked = names_mark(c->names) > names;
  if (checked) cg_open(c, "if (error == cudaSuccess) {");
  bool opt_in = k->smem_bytes > 48 * 1024;
  if (opt_in) {
    needs_add(c->needs, "opt_in");
    cg_line(c, "error = tlc_opt_in(reinterpret_cast<const void *>(%s), %lld);", k->name,
            (long long)k->smem_bytes);
    cg_open(c, "if (error == cudaSuccess) {");
  }
  bool resident = k->workers && kernel_cluster(k) > 1;
  if (resident) {
    needs_add(c->needs, "resident");
    cg_line(c, "error = tlc_resident(&config, %s, %d);", k->name, kernel_cluster(k));
    cg_open(c, "if (error == cudaSuccess) {");
  }
  cg_begin(c);
  cg_text(c, "error = cudaLaunchKernelEx(&config, %s", k->name);
  kernel_arguments(c, k);
  cg_text(c, ");");
  cg_end(c);
  if (resident) cg_close(c, "}");
  if (opt_in) cg_close(c, "}");
  if (checked) cg_close(c, "}");
  if (nested) cg_close(c, "}");
  names_pop(c->names, names);
}

bool cg_is_zeroed(const CgOptions *o, const Param *p) {
  for (const char *const *z = o->zero; z && *z; z++) {
    if (p->kind == PARAM_TENSOR && !strcmp(*z, p->name)) return true;
  }
  return false;
}

static void zero(Cg *c, int i) {
  const char *n = cg_param_name(c, &c->p->params.data[i]);
  int names = names_mark(c->names);
  cg_open(c, "if (error == cudaSuccess) {");
  cg_begin(c);
  cg_text(c, "const int64_t %s = ", names_declare(c->names, c->p->params.data + i, "bytes"));
  cg_buffer_bytes(c, cg_shape(c, i));
  cg_text(c, ";");
  cg_end(c);
  const char *bytes = names_of(c->names, c->p->params.data + i)->text;
  cg_line(c, "if (%s > 0) error = cudaMemsetAsync(%s, 0, static_cast<size_t>(%s), stream);", bytes,
          n, bytes);
  cg_close(c, "}");
  names_pop(c->names, names);
}

void cg_declare_params(Cg *c) {
  const Program *p = c->p;
  names_reserve(c->names, p->symbol);
  names_reserve(c->names, "config");
  names_reserve(c->names, "attribute");
  names_reserve(c->names, "pending");
  names_reserve(c->names, "why");
  for (int i = 0; i < p->kernels.len; i++) names_reserve(c->names, p->kernels.data[i]->name);
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    names_declare(c->names, q->kind == PARAM_TENSOR ? (const void *)q->buf : q->var, q->name);
  }
  for (int i = 0; i < p->sizes.len; i++)
    names_declare(c->names, p->sizes.data[i], p->sizes.data[i]->name);
  cg_declare_workspace(c);
  link_source(c);
}

void cg_open_launcher(Cg *c, const char *linkage) {
  cg_begin(c);
  cg_text(c, "%s cudaError_t %s(", linkage, c->p->symbol);
  cg_params(c);
  cg_text(c, "%scudaStream_t stream) {", cg_has_params(c) ? ", " : "");
  cg_end(c);
  c->indent++;
}

static void launcher(Cg *c) {
  const Program *p = c->p;
  cg_blank(c);
  cg_open_launcher(c, c->o->api ? "static" : "extern \"C\"");
  cg_begin(c);
  cg_text(c, "if (%s_refuses(", p->symbol);
  cg_arguments(c);
  cg_text(c, ")) return cudaErrorInvalidValue;");
  cg_end(c);
  needs_add(c->needs, "result");
  cg_line(c, "const cudaError_t pending = cudaPeekAtLastError();");
  cg_line(c, "cudaError_t error = cudaSuccess;");
  int names = names_mark(c->names);
  cg_places(c, false);
  bool may_have_failed = p->kernels.len > 1; // an unnested launch is the only statement of its kind
  for (int i = 0; i < p->params.len; i++) {
    if (c->o->zero_kernels || !cg_is_zeroed(c->o, &p->params.data[i])) continue;
    zero(c, i);
    may_have_failed = true;
  }
  for (int i = 0; i < p->kernels.len; i++) launch(c, p->kernels.data[i], may_have_failed);
  cg_line(c, "return tlc_result(pending, error);");
  cg_close(c, "}");
  names_pop(c->names, names);
}

void cg_open_check(Cg *c) {
  needs_add(c->needs, "say");
  cg_blank(c);
  cg_begin(c);
  cg_text(c, "extern \"C\" cudaError_t %s_check(", c->p->symbol);
  cg_params(c);
  cg_text(c, "%schar *msg, size_t msg_size) {", cg_has_params(c) ? ", " : "");
  cg_end(c);
  c->indent++;
}

void cg_close_check(Cg *c) {
  cg_line(c, "tlc_say(msg, msg_size, why ? why : \"\");");
  cg_line(c, "return why ? cudaErrorInvalidValue : cudaSuccess;");
  cg_close(c, "}");
}

static void check(Cg *c) {
  cg_open_check(c);
  cg_begin(c);
  cg_text(c, "const char *why = %s_refuses(", c->p->symbol);
  cg_arguments(c);
  cg_text(c, ");");
  cg_end(c);
  cg_close_check(c);
}

void cg_launcher(Cg *c) {
  cg_declare_params(c);
  int names = names_mark(c->names);
  cg_refuses(c);
  names_pop(c->names, names);
  launcher(c);
  if (c->o->api) return;
  check(c);
  cg_workspace_query(c);
}
