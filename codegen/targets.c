// Files with bodies for several targets: device code holds one of them, a launcher finds which.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

#include <string.h>

static bool is_list(const CgOptions *o) {
  return o->targets && o->targets[0] && o->targets[1];
}

bool cg_first_of_api(const Program *const *list, const CgOptions *o, int i, Program *p) {
  *p = *list[i];
  if (!o[i].api) return true;
  p->symbol = o[i].api;
  return i == 0 || !o[i - 1].api || strcmp(o[i].api, o[i - 1].api) != 0;
}

const char *cg_target_names(Arena *a, const CgOptions *o) {
  const char *text = o->target->name;
  for (int i = 0; is_list(o) && o->targets[i]; i++)
    text = i ? arena_printf(a, "%s%s%s", text, o->targets[i + 1] ? ", " : " and ",
                            o->targets[i]->name)
             : o->targets[i]->name;
  return text;
}

const char *cg_target_flags(Arena *a, const CgOptions *o) {
  const char *text = "";
  if (!is_list(o)) return arena_printf(a, "-arch=%s", o->target->name);
  for (int i = 0; o->targets[i]; i++) {
    const char *name = o->targets[i]->name;
    text = arena_printf(a, "%s%s-gencode arch=compute_%s,code=%s", text, i ? " " : "", name + 3,
                        name);
  }
  return text;
}

static void condition(const Target *t, bool host, Buf *out) {
  if (t->feature) buf_printf(out, "defined(%s)", t->feature);
  else if (host) buf_printf(out, "!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= %d", 10 * t->sm);
  else buf_printf(out, "defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= %d", 10 * t->sm);
}

static void choose_body(const CgOptions *o, Buf *out) {
  int n = 0;
  while (o->targets[n]) n++;
  buf_puts(out,
           "\n// Device code holds the bodies of the newest target whose instructions it has.\n");
  for (int i = n; i-- > 0;) {
    buf_puts(out, i == n - 1 ? "#if " : "#elif ");
    condition(o->targets[i], i == 0, out);
    buf_printf(out, "\n#define TLC_TARGET %d\n", o->targets[i]->sm);
  }
  buf_printf(out, "#else\n#error \"this file is for %s and newer GPUs\"\n#endif\n",
             o->targets[0]->name);
  buf_puts(out, "#pragma nv_diag_suppress 177 // the other bodies' helpers are not referenced\n");
}

void cg_target_guard(const CgOptions *o, bool own, Buf *out) {
  const Target *t = o->target;
  if (is_list(o)) {
    choose_body(o, out);
  } else {
    buf_printf(out, "\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < %d\n", 10 * t->sm);
    buf_printf(out, "#error \"this file is for %s%s\"\n#endif\n", t->name,
               own ? "" : " and newer GPUs");
  }
}

// Where the body is missing a block of one thread is the largest, which tells: so no body has that.
static int told_threads(const Kernel *k) {
  int n = kernel_threads(k);
  return n > 1 ? n : 2;
}

const char *cg_bound_threads(Cg *c, const Kernel *k) {
  if (!is_list(c->o)) return arena_printf(c->arena, "%d", kernel_threads(k));
  return arena_printf(c->arena, "TLC_TARGET == %d ? %d : 1", c->o->target->sm, told_threads(k));
}

void cg_open_body(Cg *c) {
  if (is_list(c->o)) buf_printf(c->out, "#if TLC_TARGET == %d\n", c->o->target->sm);
}

void cg_close_body(Cg *c) {
  if (is_list(c->o)) buf_puts(c->out, "#endif\n");
}

// "if (...) " where the loaded code holds the program's bodies; the oldest target's are left.
static void if_there(Cg *c, const Program *const *list, int i) {
  const Kernel *k = list[i]->kernels.data[0];
  if (i == 0) return;
  needs_add(c->needs, "has_body");
  cg_text(c, "if (tlc_has_body(%s, %d)) ", k->name, told_threads(k));
}

static void choose_launcher(Cg *c, const Program *const *list, int n) {
  const char *comma = cg_has_params(c) ? ", " : "";
  cg_open_launcher(c, "extern \"C\"");
  for (int i = n; i-- > 0;) {
    cg_begin(c);
    if_there(c, list, i);
    cg_text(c, "return %s(", list[i]->symbol);
    cg_arguments(c);
    cg_text(c, "%sstream);", comma);
    cg_end(c);
  }
  cg_close(c, "}");
}

static void choose_check(Cg *c, const Program *const *list, int n) {
  cg_open_check(c);
  cg_line(c, "const char *why = nullptr;");
  for (int i = n; i-- > 0;) {
    cg_begin(c);
    cg_text(c, i == n - 1 ? "" : "else ");
    if_there(c, list, i);
    cg_text(c, "why = %s_refuses(", list[i]->symbol);
    cg_arguments(c);
    cg_text(c, ");");
    cg_end(c);
  }
  cg_close_check(c);
}

void cg_choose(Arena *a, const Program *const *list, const CgOptions *o, int n, Needs *needs,
               Buf *out) {
  Program p;
  (void)cg_first_of_api(list, o, 0, &p);
  Cg c = {.arena = a, .p = &p, .o = o, .names = names_new(a), .needs = needs, .out = out};
  cg_declare_params(&c);
  cg_blank(&c);
  cg_line(&c, "// Launches what the code loaded for the present device holds.");
  choose_launcher(&c, list, n);
  choose_check(&c, list, n);
  cg_workspace_query(&c);
}
