// A file or a factory without a kernel: what it may have meant.
// SPDX-License-Identifier: MIT
#include "eval/entry.h"

#include <string.h>

static bool calls_kernel(const AstExpr *e) {
  if (e->kind != AST_CALL || e->call.callee->kind != AST_ATTR) return false;
  return !strcmp(e->call.callee->attr.name.text, "Kernel");
}

static bool launches(const AstBlock *b) {
  for (int i = 0; b && i < b->len; i++) {
    const AstStmt *s = b->data[i];
    for (int k = 0; s->kind == AST_STMT_WITH && k < s->with.nitems; k++)
      if (calls_kernel(s->with.items[k].context)) return true;
  }
  return false;
}

static bool is_prim(const AstStmt *def) {
  for (int i = 0; i < def->def.decorators.len; i++) {
    const AstExpr *e = def->def.decorators.data[i];
    if (e->kind == AST_CALL) e = e->call.callee;
    const char *name = e->kind == AST_ATTR ? e->attr.name.text : e->kind == AST_NAME ? e->name : "";
    if (!strcmp(name, "prim_func")) return true;
  }
  return false;
}

// The first function defined in a block that launches a kernel, under @T.prim_func or not.
static const AstStmt *kernel_in(const AstBlock *b, bool prim) {
  for (int i = 0; b && i < b->len; i++) {
    const AstStmt *s = b->data[i];
    if (s->kind != AST_STMT_DEF) continue;
    if (is_prim(s) == prim && launches(&s->def.body)) return s;
    const AstStmt *inner = kernel_in(&s->def.body, prim);
    if (inner) return inner;
  }
  return NULL;
}

// The fix is a line above the one of the name, as deep as that.
static void undecorated(Ev *ev, Span name, const char *text) {
  const char *all = src_get(ev->sources, name.file)->text;
  uint32_t line = name.lo;
  while (line && all[line - 1] != '\n') line--;
  int indent = (int)strspn(all + line, " \t");
  diag_report(ev->diags, DIAG_UNDECORATED, name, text);
  diag_fix(ev->diags, (Span){name.file, line, line},
           arena_printf(ev->arena, "%.*s@T.prim_func\n", indent, all + line));
}

void entry_none(Ev *ev, const Env *module) {
  for (int i = 0; i < map_len(module->cells); i++) {
    Val v = ((const Cell *)map_value(module->cells, i))->v;
    if (v.kind != V_FUNC || v.fn->span.file != ev->options->file) continue;
    const AstStmt *s = launches(v.fn->body) ? NULL : kernel_in(v.fn->body, false);
    if (!s && !launches(v.fn->body)) continue;
    undecorated(ev, s ? s->def.name.span : v.fn->span, s ? s->def.name.text : v.fn->name);
    return;
  }
  diag_report(ev->diags, DIAG_NO_KERNEL, NO_SPAN);
}

void entry_no_kernel(Ev *ev, const Func *f, Val r) {
  if (r.kind == V_FUNC && launches(r.fn->body)) {
    undecorated(ev, r.fn->span, r.fn->name);
    diag_note(ev->diags, f->span, "%s returns it", f->name);
    return;
  }
  const AstStmt *s = kernel_in(f->body, true);
  const char *name = s ? s->def.name.text : NULL;
  if (r.kind == V_NONE) {
    diag_report(ev->diags, DIAG_FACTORY_NONE, f->span, f->name, name ? ": return " : "",
                name ? name : "");
  } else if (r.kind == V_OPAQUE && name &&
             !strcmp(r.opaque->what, arena_printf(ev->arena, "%s()", name))) {
    diag_report(ev->diags, DIAG_FACTORY_CALLS, ev->ret_at, f->name, name, name);
  } else {
    diag_report(ev->diags, DIAG_NOT_A_KERNEL, ev->ret_at.file ? ev->ret_at : f->span, f->name,
                r.kind == V_OPAQUE ? r.opaque->what : v_kind(ev, r));
  }
  if (s) diag_note(ev->diags, s->def.name.span, "its kernel is %s", name);
}

bool entry_nested_prim(Ev *ev, const Func *f) {
  const AstStmt *s = launches(f->body) ? NULL : kernel_in(f->body, true);
  if (!s) return false;
  diag_report(ev->diags, DIAG_NESTED_PRIM, f->span, f->name, s->def.name.text);
  diag_note(ev->diags, s->def.name.span, "its kernel is here");
  return true;
}
