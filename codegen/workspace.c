// The workspace: where its parts lie, what of it is refused, and <symbol>_workspace.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

// What stands for the pointer and for the total among the names; a part's offset is known by the
// part's slot.
static const void *pointer_key(const Program *p) {
  return &p->workspaces;
}

static const void *total_key(const Program *p) {
  return &p->workspaces.len;
}

bool cg_has_workspace(const Cg *c) {
  return c->p->workspaces.len > 0;
}

void cg_declare_workspace(Cg *c) {
  if (cg_has_workspace(c)) names_declare(c->names, pointer_key(c->p), "workspace");
}

const char *cg_workspace_name(const Cg *c) {
  return names_of(c->names, pointer_key(c->p))->text;
}

// The part as the source declares it.
static const Buffer *part(const Cg *c, int i) {
  return (c->o->source ? c->o->source : c->p)->workspaces.data[i];
}

static int64_t round_up(int64_t bytes) {
  return (bytes + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
}

// Where part i starts; i == the number of parts: the bytes of all. False where sizes decide.
static bool constant_place(const Cg *c, int i, int64_t *at) {
  *at = 0;
  for (int k = 0; k < i; k++) {
    int64_t bytes;
    if (!cg_constant_bytes(part(c, k), &bytes)) return false;
    *at += round_up(bytes);
  }
  return true;
}

// The constant, or the name that cg_places declares.
static const char *place_text(const Cg *c, int i) {
  const Program *p = c->p;
  int64_t at;
  if (constant_place(c, i, &at)) return arena_printf(c->arena, "%lld", (long long)at);
  const void *key = i < p->workspaces.len ? (const void *)&p->workspaces.data[i] : total_key(p);
  return names_of(c->names, key)->text;
}

static void declare_place(Cg *c, int i) {
  const Program *p = c->p;
  bool all = i == p->workspaces.len;
  int64_t at;
  if (constant_place(c, i, &at)) return;
  const void *key = all ? total_key(p) : (const void *)&p->workspaces.data[i];
  const char *own = all ? cg_workspace_name(c) : p->workspaces.data[i]->name;
  const char *wish = arena_printf(c->arena, all ? "%s_bytes" : "%s_at", own);
  needs_add(c->needs, "after");
  cg_begin(c);
  cg_text(c, all ? "" : "[[maybe_unused]] ");
  cg_text(c, "const int64_t %s = tlc_after(", names_declare(c->names, key, wish));
  cg_text(c, "%s, ", place_text(c, i - 1));
  cg_buffer_bytes(c, part(c, i - 1));
  cg_text(c, ");");
  cg_end(c);
}

void cg_places(Cg *c, bool total) {
  int n = c->p->workspaces.len;
  for (int i = 1; i < n + total; i++) declare_place(c, i);
}

void cg_refuse_workspace(Cg *c) {
  if (!cg_has_workspace(c)) return;
  int n = c->p->workspaces.len;
  int64_t bytes = 0;
  const char *w = cg_workspace_name(c);
  cg_places(c, true);
  if (!constant_place(c, n, &bytes)) {
    const char *size = place_text(c, n);
    cg_line(c, "if (%s < 0) return \"%s has more bytes than 64 bits count\";", size, w);
    cg_line(c, "if (!%s && %s > 0) return \"%s is a null pointer\";", w, size, w);
  } else if (bytes > 0) {
    cg_line(c, "if (!%s) return \"%s is a null pointer\";", w, w);
  }
  needs_add(c->needs, "misaligned");
  cg_line(c, "if (tlc_misaligned(%s, %d)) return \"%s must be aligned to %d bytes\";", w,
          WORKSPACE_ALIGN, w, WORKSPACE_ALIGN);
}

void cg_refuse_workspace_overlap(Cg *c, const char *tensor, const char *bytes) {
  if (!cg_has_workspace(c)) return;
  const char *w = cg_workspace_name(c);
  needs_add(c->needs, "overlap");
  cg_begin(c);
  cg_text(c, "if (tlc_overlap(%s, %s, %s, %s))", tensor, bytes, w,
          place_text(c, c->p->workspaces.len));
  cg_text(c, " return \"%s and %s must not overlap\";", tensor, w);
  cg_end(c);
}

void cg_workspace_argument(Cg *c, int i, bool written) {
  const char *type = cg_type(c->p->workspaces.data[i]->dtype), *constant = written ? "" : "const ";
  const char *w = cg_workspace_name(c);
  int64_t at;
  if (constant_place(c, i, &at) && at == 0) {
    cg_text(c, "static_cast<%s%s *>(%s)", constant, type, w);
    return;
  }
  needs_add(c->needs, "part");
  cg_text(c, "tlc_part<%s%s>(%s, %s)", constant, type, w, place_text(c, i));
}

/* ------------------------------------------------------------------ the question for its bytes */

void cg_workspace_prototype(Cg *c, bool cxx) {
  const Program *p = c->p;
  cg_text(c, "size_t %s_workspace(", p->symbol);
  for (int i = 0; i < p->sizes.len; i++)
    cg_text(c, "%sint64_t %s", i ? ", " : "", names_of(c->names, p->sizes.data[i])->text);
  cg_text(c, p->sizes.len || cxx ? ")" : "void)");
}

void cg_workspace_query(Cg *c) {
  const Program *p = c->p;
  if (!cg_has_workspace(c)) return;
  int names = names_mark(c->names);
  int64_t bytes;
  cg_blank(c);
  cg_line(c, "// Bytes of %s; 0 for sizes that %s refuses.", cg_workspace_name(c), p->symbol);
  cg_begin(c);
  cg_text(c, "extern \"C\" ");
  cg_workspace_prototype(c, true);
  cg_text(c, " {");
  cg_end(c);
  c->indent++;
  for (int i = 0; i < p->sizes.len; i++) {
    const char *n = names_of(c->names, p->sizes.data[i])->text;
    cg_line(c, "if (%s < 0 || %s > INT32_MAX) return 0;", n, n);
  }
  cg_refuse_divisors(c, false);
  cg_places(c, true);
  const char *total = place_text(c, p->workspaces.len);
  if (constant_place(c, p->workspaces.len, &bytes)) cg_line(c, "return %s;", total);
  else cg_line(c, "return %s > 0 ? static_cast<size_t>(%s) : 0;", total, total);
  cg_close(c, "}");
  names_pop(c->names, names);
}

/* ------------------------------------------------------------------ descriptions */

const char *cg_workspace_bytes_text(Cg *c) {
  int64_t bytes;
  if (constant_place(c, c->p->workspaces.len, &bytes))
    return arena_printf(c->arena, "%lld bytes", (long long)bytes);
  const char *sizes = "";
  for (int i = 0; i < c->p->sizes.len; i++)
    sizes = arena_printf(c->arena, "%s%s%s", sizes, i ? ", " : "",
                         names_of(c->names, c->p->sizes.data[i])->text);
  return arena_printf(c->arena, "%s_workspace(%s) bytes", c->p->symbol, sizes);
}

bool cg_workspace_constant(const Cg *c, int64_t *bytes) {
  return constant_place(c, c->p->workspaces.len, bytes);
}

const Buffer *cg_workspace_part(const Cg *c, int i) {
  return part(c, i);
}
