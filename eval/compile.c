// ev_compile: one module, from text to programs.
// SPDX-License-Identifier: MIT
#include "eval/entry.h"
#include "eval/internal.h"

#include <string.h>

static void run(Ev *ev, void *arg) {
  Env *module = arg;
  if (!ev_run_file(ev, ev->options->file, module)) return;
  const char *path = src_get(ev->sources, ev->options->file)->path, *slash = strrchr(path, '/');
  ev->folder = slash ? arena_strn(ev->arena, path, (size_t)(slash - path)) : ".";
  ev->env = module;
  ev->steps = 0; // the limit counts for the module and for its entries apart
  entry_run(ev, module);
}

bool ev_compile(const EvOptions *o, EvResult *r) {
  Arena *a = o->arena;
  int errors = diag_errors(o->diags);
  Ev ev = {
      .arena = a, .diags = o->diags, .sources = diag_sources(o->diags), .options = o, .result = r};
  ev.target = o->target ? o->target : target_find("sm_80");
  ev.stack = __builtin_frame_address(0);
  ev.arena_start = arena_bytes(a);
  ev.modules = map_new(a);
  ev.own = map_new(a);
  ev.sizes = map_new(a);
  ev.used = map_new(a);
  ev.folder = ".";
  ev.builtins = env_new(&ev, NULL);
  lib_install(&ev, ev.builtins);
  Env *module = env_new(&ev, ev.builtins);
  env_put(&ev, module, "__name__", v_str(&ev, "__tlc__"));
  Module *self = NEW(a, Module);
  *self = (Module){"__tlc__", module};
  map_set(ev.modules, src_get(ev.sources, o->file)->path, self);
  (void)ev_protect(&ev, run, module);
  return diag_errors(o->diags) == errors;
}
