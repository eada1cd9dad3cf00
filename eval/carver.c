// tilelang.carver: a module of tlc's own, written in the language (carver.tl), over the tuner's
// hints.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <string.h>

#include "eval/handlers.h"

static const char text[] =
#include "eval/carver.inc"
    ;

enum { MOST_HINTS = 1000 };

bool carver_is(const char *name) {
  static const char *const parts[] = {"",
                                      ".arch",
                                      ".template",
                                      ".template.matmul",
                                      ".roller",
                                      ".roller.hint",
                                      ".roller.rasterization"};
  const char *top = "tilelang.carver";
  for (size_t i = 0; i < LEN(parts); i++) {
    if (!strncmp(name, top, strlen(top)) && !strcmp(name + strlen(top), parts[i])) return true;
  }
  return false;
}

// All of its parts are one scope.
Val carver_module(Ev *ev, const char *name) {
  Module *m = map_get(ev->own, "tilelang.carver");
  if (!m) {
    m = NEW(ev->arena, Module);
    *m = (Module){"tilelang.carver", env_new(ev, ev->builtins)};
    map_set(ev->own, "tilelang.carver", m);
    const Builtin *hints = lib_find("tilelang.carver", "matmul_hints");
    env_put(ev, m->env, "matmul_hints", (Val){.kind = V_BUILTIN, .builtin = hints});
    ev_run_file(ev, src_add(ev->sources, "tilelang/carver.tl", text, strlen(text)), m->env);
  }
  Module *part = NEW(ev->arena, Module);
  *part = (Module){arena_str(ev->arena, name), m->env};
  return (Val){.kind = V_MODULE, .module = part};
}

static int64_t size(Ev *ev, const Call *c, int i) {
  ev_need(ev, c->arg[i]);
  Val v = c->arg[i];
  if (!v_is_int(v) || v.i < 1)
    ev_fail(ev, DIAG_OPERAND, c->at[i], "a size of MatmulTemplate", v_kind(ev, v),
            "an int of at least 1");
  return v.i;
}

static const char *dtype(Ev *ev, const Call *c, int i) {
  ev_need(ev, c->arg[i]);
  Val v = c->arg[i];
  DType t;
  if (v.kind == V_DTYPE) return dt_name(v.dtype);
  if (v.kind != V_STR || !dt_find(v.str->data, &t))
    ev_fail(ev, DIAG_OPERAND, c->at[i], "a dtype of MatmulTemplate", v_brief(ev, v), "a dtype");
  return dt_name(t);
}

Val cv_matmul_hints(Ev *ev, Call *c) {
  EvMatmul m = {.m = size(ev, c, 0),
                .n = size(ev, c, 1),
                .k = size(ev, c, 2),
                .in = dtype(ev, c, 3),
                .out = dtype(ev, c, 4),
                .accum = dtype(ev, c, 5),
                .trans_a = ev_truth(ev, c->arg[6], c->at[6]),
                .trans_b = ev_truth(ev, c->arg[7], c->at[7])};
  int64_t most = size(ev, c, 8);
  if (most > MOST_HINTS) most = MOST_HINTS;
  Val list = v_seq(ev, V_LIST, 0);
  EvHint *hints = NEWN(ev->arena, EvHint, most);
  int n = ev->options->hints ? ev->options->hints(ev->options->hints_ctx, &m, hints, (int)most) : 0;
  for (int i = 0; i < n; i++) {
    const EvHint *h = &hints[i];
    int64_t all[] = {h->block_m, h->block_n, h->block_k, h->stages, h->warp_m, h->warp_n, h->panel};
    Val one = v_seq(ev, V_TUPLE, 0);
    for (size_t k = 0; k < LEN(all); k++) v_push(ev, one.seq, v_int(all[k]));
    v_push(ev, one.seq, v_float(h->us));
    v_push(ev, list.seq, one);
  }
  return list;
}

// As TileLang derives a policy from warps along M and N.
Val gp_from_warps(Ev *ev, Call *c) {
  int64_t m = size(ev, c, 0), n = size(ev, c, 1);
  GemmPolicy p = n == 1 && m > 1   ? POLICY_FULL_ROW
                 : m == 1 && n > 1 ? POLICY_FULL_COL
                                   : POLICY_SQUARE;
  return (Val){.kind = V_POLICY, .i = p};
}
