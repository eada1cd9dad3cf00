// The manifest: what the header says, and how each kernel is launched, as JSON.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <string.h>

static void string(Cg *c, const char *s) {
  cg_text(c, "\"");
  for (; s && *s; s++) {
    unsigned char ch = (unsigned char)*s;
    if (ch == '"' || ch == '\\') cg_text(c, "\\%c", ch);
    else if (ch < 0x20) cg_text(c, "\\u%04x", ch);
    else cg_text(c, "%c", ch);
  }
  cg_text(c, "\"");
}

static void key(Cg *c, const char *name) {
  cg_text(c, "\"%s\": ", name);
}

static void string_field(Cg *c, const char *name, const char *value) {
  key(c, name);
  string(c, value);
}

// A number where it is constant, else its C expression over the sizes.
static void extent(Cg *c, Expr *x) {
  int64_t v;
  if (ex_const(x, &v)) cg_text(c, "%lld", (long long)v);
  else string(c, cg_expr_text(c, x));
}

static void extents(Cg *c, const char *name, Expr **list, int n) {
  key(c, name);
  cg_text(c, "[");
  for (int i = 0; i < n; i++) {
    if (i) cg_text(c, ", ");
    extent(c, list[i]);
  }
  cg_text(c, "]");
}

static void param(Cg *c, int i) {
  static const char *const roles[] = {[ROLE_IN] = "in", [ROLE_OUT] = "out", [ROLE_INOUT] = "inout"};
  const Param *p = &c->p->params.data[i];
  cg_text(c, "        {");
  string_field(c, "name", p->name);
  if (p->kind == PARAM_SCALAR) {
    cg_text(c, ", \"kind\": \"scalar\", \"dtype\": \"%s\", \"ctype\": \"%s\"}",
            dt_name(p->var->type), dt_abi(p->var->type));
    return;
  }
  const Buffer *b = cg_shape(c, i);
  cg_text(c, ", \"kind\": \"tensor\", \"dtype\": \"%s\", \"role\": \"%s\", ", dt_name(b->dtype),
          roles[p->role]);
  extents(c, "shape", b->shape, b->ndim);
  if (b->strides) {
    cg_text(c, ", ");
    extents(c, "strides", b->strides, b->ndim);
  }
  cg_text(c, ", \"align\": %d, \"accumulates\": %s, \"zeroed\": %s}", cg_align(b),
          p->role == ROLE_INOUT ? "true" : "false", cg_is_zeroed(c->o, p) ? "true" : "false");
}

static void launch(Cg *c, const Kernel *k) {
  cg_text(c, "        {");
  string_field(c, "name", k->name);
  cg_text(c, ", ");
  extents(c, "grid", (Expr **)k->grid, 3);
  cg_text(c, ", \"threads\": %d, \"smem\": %lld}", kernel_threads(k), (long long)k->smem_bytes);
}

static void fact(Cg *c, const Fact *f) {
  cg_text(c, "        {");
  string_field(c, "cond", ir_expr_str(c->arena, f->cond));
  cg_text(c, ", ");
  string_field(c, "why", f->why ? f->why : "T.assume");
  if (cg_place(c, f->span)) {
    cg_text(c, ", ");
    string_field(c, "place", cg_place(c, f->span));
  }
  cg_text(c, ", \"on_device\": %s}", f->on_device ? "true" : "false");
}

static void next(Cg *c, int i, int n) {
  cg_text(c, "%s\n", i + 1 < n ? "," : "");
}

static void open_list(Cg *c, const char *name) {
  cg_text(c, "      \"%s\": [\n", name);
}

// null where there is none; bytes null where the sizes decide.
static void workspace(Cg *c) {
  int64_t bytes;
  key(c, "workspace");
  if (!cg_has_workspace(c)) {
    cg_text(c, "null,\n");
    return;
  }
  cg_text(c, "{\n        \"align\": %d, \"bytes\": ", WORKSPACE_ALIGN);
  if (cg_workspace_constant(c, &bytes)) cg_text(c, "%lld", (long long)bytes);
  else cg_text(c, "null");
  cg_text(c, ",\n        \"parts\": [\n");
  int n = c->p->workspaces.len;
  for (int i = 0; i < n; next(c, i++, n)) {
    const Buffer *b = cg_workspace_part(c, i);
    cg_text(c, "          {");
    string_field(c, "name", b->name);
    cg_text(c, ", \"dtype\": \"%s\", ", dt_name(b->dtype));
    extents(c, "shape", b->shape, b->ndim);
    cg_text(c, "}");
  }
  cg_text(c, "        ]\n      },\n");
}

static void program(Arena *a, const Program *p, const CgOptions *o, Buf *out) {
  Cg c = {.arena = a, .p = p, .o = o, .names = names_new(a), .needs = needs_new(a), .out = out};
  cg_declare_params(&c);
  cg_text(&c, "    {\n      ");
  string_field(&c, "symbol", o->api ? o->api : p->symbol);
  cg_text(&c,
          ",\n      \"abi\": %d,\n      \"hash\": \"%016llx\",\n      \"arch\": \"%s\",\n      ",
          CG_ABI, (unsigned long long)o->hash, o->target->name);
  string_field(&c, "bindings", p->bindings);
  cg_text(&c, ",\n");
  open_list(&c, "params");
  for (int i = 0; i < p->params.len; next(&c, i++, p->params.len)) param(&c, i);
  cg_text(&c, "      ],\n      \"sizes\": [");
  for (int i = 0; i < p->sizes.len; i++) {
    cg_text(&c, i ? ", " : "");
    string(&c, p->sizes.data[i]->name);
  }
  cg_text(&c, "],\n      ");
  workspace(&c);
  open_list(&c, "launches");
  for (int i = 0; i < p->kernels.len; next(&c, i++, p->kernels.len)) launch(&c, p->kernels.data[i]);
  cg_text(&c, "      ],\n");
  open_list(&c, "facts");
  for (int i = 0; i < p->facts.len; next(&c, i++, p->facts.len)) fact(&c, &p->facts.data[i]);
  cg_text(&c, "      ]\n    }");
}

void cg_manifest_all(const Program *const *p, const CgOptions *o, int n, Buf *out) {
  Arena *a = arena_new();
  Cg c = {.arena = a, .p = p[0], .o = o, .out = out};
  cg_text(&c, "{\n  \"schema\": %d,\n  \"tlc\": \"%s\",\n  ", CG_MANIFEST_SCHEMA, tlc_version);
  string_field(&c, "source", cg_base_name(p[0]->file));
  cg_text(&c, ",\n  ");
  string_field(&c, "file", cg_file_name(a, o, p[0]));
  cg_text(&c, ",\n  \"kernels\": [\n");
  for (int i = 0; i < n; next(&c, i++, n)) program(a, p[i], &o[i], out);
  cg_text(&c, "  ]\n}\n");
  arena_free(a);
}

void cg_manifest(const Program *p, const CgOptions *o, Buf *out) {
  cg_manifest_all(&p, o, 1, out);
}
