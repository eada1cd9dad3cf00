// Programs as text (docs/ir.md has the grammar).
// SPDX-License-Identifier: MIT
#include "ir/print.h"

#include "ir/layout.h"

#include <string.h>

static void print_ints(Printer *p, const char *word, const int *list, int n) {
  buf_printf(p->out, " %s [", word);
  for (int i = 0; i < n; i++) buf_printf(p->out, "%s%d", i ? ", " : "", list[i]);
  buf_putc(p->out, ']');
}

static void print_map(Printer *p, const Buffer *b) {
  const TensorMap *m = b->map;
  bool steps = false;
  for (int i = 0; i < b->ndim; i++) steps |= m->step[i] != 1;
  buf_printf(p->out, " of %s", printer_name(p, m->of, m->of->name));
  print_ints(p, "box", m->box, b->ndim);
  if (steps) print_ints(p, "steps", m->step, b->ndim);
  if (m->swizzle) buf_printf(p->out, " swizzle %d", m->swizzle);
  if (m->l2) buf_printf(p->out, " l2 %d", m->l2);
  if (m->nan) buf_puts(p->out, " nan");
}

static void print_buffer_tail(Printer *p, const Buffer *b) {
  buf_printf(p->out, "%s ", dt_name(b->dtype));
  print_list(p, b->shape, b->ndim);
  if (b->strides) {
    buf_puts(p->out, " strides ");
    print_list(p, b->strides, b->ndim);
  }
  if (b->base) buf_printf(p->out, " of %s", printer_name(p, b->base, b->base->name));
  if (b->align != 16) buf_printf(p->out, " align %d", b->align);
  if (b->safe) {
    buf_puts(p->out, " safe ");
    print_expr(p, b->safe, PREC_PRIMARY);
  }
  if (b->map) print_map(p, b);
  if (b->offset >= 0) buf_printf(p->out, " offset %lld", (long long)b->offset);
  if (b->layout) {
    buf_putc(p->out, ' ');
    layout_print(b->layout, p->out);
  }
  if (b->places) print_places(p, b->places);
}

static void print_end(Printer *p, Span span) {
  if (p->spans && span.file) buf_printf(p->out, " @%u:%u-%u", span.file, span.lo, span.hi);
  buf_putc(p->out, '\n');
}

static void print_param(Printer *p, const Param *param) {
  bool tensor = param->kind == PARAM_TENSOR;
  const void *what = tensor ? (const void *)param->buf : param->var;
  const char *own = tensor ? param->buf->name : param->var->name;
  const char *name = printer_declare(p, what, own);
  buf_printf(p->out, "param %s : ", name);
  if (tensor) {
    buf_puts(p->out, "tensor ");
    print_buffer_tail(p, param->buf);
    buf_printf(p->out, " role %s", role_words[param->role]);
  } else {
    buf_puts(p->out, dt_name(param->var->type));
  }
  if (param->name && strcmp(param->name, name)) {
    buf_puts(p->out, " name ");
    print_string(p->out, param->name);
  }
  print_end(p, param->span);
}

static void print_workspace(Printer *p, const Buffer *b) {
  buf_printf(p->out, "workspace %s : ", printer_declare(p, b, b->name));
  print_buffer_tail(p, b);
  print_end(p, b->span);
}

static void print_fact(Printer *p, const Fact *f) {
  buf_puts(p->out, "fact ");
  print_expr(p, f->cond, 0);
  if (f->on_device) buf_puts(p->out, " device");
  if (f->why) {
    buf_puts(p->out, " why ");
    print_string(p->out, f->why);
  }
  print_end(p, f->span);
}

static const char *var_word(Printer *p, const Var *v) {
  return v ? printer_declare(p, v, v->name) : "_";
}

static void print_kernel_head(Printer *p, const Kernel *k) {
  buf_printf(p->out, "\nkernel %s {\n  level %s\n  grid ", k->name,
             k->level == LEVEL_THREAD ? "thread" : "tile");
  print_list(p, k->grid, 3);
  buf_printf(p->out, "\n  threads %d\n  block [", k->threads);
  for (int i = 0; i < 3; i++) buf_printf(p->out, "%s%s", i ? ", " : "", var_word(p, k->block[i]));
  buf_printf(p->out, "]\n  thread %s\n", var_word(p, k->thread));
  if (k->workers) buf_printf(p->out, "  workers %s\n", var_word(p, k->workers));
  if (k->team) buf_printf(p->out, "  team %s of %d\n", var_word(p, k->team), k->teams);
  for (int i = 0; i < k->hints.len; i++) {
    buf_puts(p->out, "  hint ");
    print_string(p->out, k->hints.data[i].name);
    buf_printf(p->out, " %lld\n", (long long)k->hints.data[i].value);
  }
  if (k->raster_panel)
    buf_printf(p->out, "  raster %d %s\n", k->raster_panel, k->raster_column ? "column" : "row");
  if (kernel_cluster(k) > 1) {
    print_ints(p, " cluster",
               (int[]){k->cluster[0] + !k->cluster[0], k->cluster[1] + !k->cluster[1],
                       k->cluster[2] + !k->cluster[2]},
               3);
    buf_putc(p->out, '\n');
  }
  if (k->launch_threads || k->min_blocks) {
    buf_printf(p->out, "  launch %d", kernel_threads(k));
    if (k->min_blocks) buf_printf(p->out, " blocks %d", k->min_blocks);
    buf_putc(p->out, '\n');
  }
  if (k->smem_bytes) buf_printf(p->out, "  smem %lld\n", (long long)k->smem_bytes);
}

static void print_kernel(Printer *p, const Kernel *k) {
  int mark = p->active.len;
  print_kernel_head(p, k);
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    buf_printf(p->out, "  %s %s : ", scope_words[b->scope], printer_declare(p, b, b->name));
    print_buffer_tail(p, b);
    print_end(p, b->span);
  }
  buf_puts(p->out, "  body");
  print_block(p, k->body, 1);
  buf_puts(p->out, "\n}");
  printer_pop(p, mark);
  print_end(p, k->span);
}

static void pin(void *ctx, Expr *x) {
  if (x->kind == EX_VAR) ptrmap_set(((Printer *)ctx)->pinned, x->u.var, x->u.var);
}

static void print_program(Printer *p, const Program *prog) {
  for (int i = 0; i < prog->facts.len; i++) {
    if (prog->facts.data[i].on_device) ex_walk(prog->facts.data[i].cond, pin, p);
  }
  buf_printf(p->out, "program %s", prog->symbol);
  if (prog->file) {
    buf_puts(p->out, " file ");
    print_string(p->out, prog->file);
  }
  if (prog->bindings) {
    buf_puts(p->out, " bindings ");
    print_string(p->out, prog->bindings);
  }
  buf_putc(p->out, '\n');
  for (int i = 0; i < prog->sizes.len; i++) {
    Var *v = prog->sizes.data[i];
    buf_printf(p->out, "size %s\n", printer_declare(p, v, v->name));
  }
  for (int i = 0; i < prog->params.len; i++) print_param(p, &prog->params.data[i]);
  for (int i = 0; i < prog->sources.len; i++) {
    buf_puts(p->out, "source ");
    print_string(p->out, prog->sources.data[i]);
    buf_putc(p->out, '\n');
  }
  for (int i = 0; i < prog->workspaces.len; i++) print_workspace(p, prog->workspaces.data[i]);
  for (int i = 0; i < prog->kernels.len; i++) print_kernel(p, prog->kernels.data[i]);
  if (prog->facts.len) buf_putc(p->out, '\n');
  for (int i = 0; i < prog->facts.len; i++) print_fact(p, &prog->facts.data[i]);
}

void ir_print(const Program *p, Buf *out) {
  Printer printer = printer_new(out);
  print_program(&printer, p);
  printer_free(&printer);
}

void ir_print_spans(const Program *p, Buf *out) {
  Printer printer = printer_new(out);
  printer.spans = true;
  print_program(&printer, p);
  printer_free(&printer);
}
