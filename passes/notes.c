// Notes under messages of the passes: where buffers are declared, and what the compile-time
// parameters that their places name were bound to.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

#include <string.h>

enum { MAX_NAMES = 24 };

static const Bound *bound(const Program *p, const char *name) {
  for (int i = 0; i < p->bound.len; i++)
    if (!strcmp(p->bound.data[i].name, name)) return &p->bound.data[i];
  return NULL;
}

// "; block_M = 100 (from -p), block_N = 128", or "" where the place names no parameter.
const char *note_values(PassCtx *c, const Program *p, Span at) {
  const char *names[MAX_NAMES], *text = "";
  Arena *a = c->arena;
  if (!at.file) return text;
  int n = src_names(diag_sources(c->diags), a, at, names, MAX_NAMES);
  for (int i = 0; i < n; i++) {
    const Bound *b = bound(p, names[i]);
    DType t;
    if (!b || dt_find(b->value, &t)) continue; // the dtype is in the text already
    text = arena_printf(a, "%s%s%s = %s%s", text, *text ? ", " : "; ", b->name, b->value,
                        b->given ? " (from -p)" : "");
  }
  return text;
}

void note_buffer(PassCtx *c, const Program *p, const Buffer *b) {
  const char *shape = "";
  for (int d = 0; d < b->ndim; d++)
    shape =
        arena_printf(c->arena, "%s%s%s", shape, d ? " x " : "", ir_expr_str(c->arena, b->shape[d]));
  diag_note(c->diags, b->span, "%s is declared here: %s %s%s", b->name, shape, dt_name(b->dtype),
            note_values(c, p, b->span));
}

void note_launch(PassCtx *c, const Program *p, const Kernel *k) {
  const char *text = note_values(c, p, k->span);
  if (*text) diag_note(c->diags, k->span, "the kernel is launched here%s", text);
}
