// Lookup of compile-time library functions, and Python's names.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include "eval/handlers.h"

#include <string.h>

static const Builtin lib[] = {
#define LIB(module, name, fn, taste, signature, meaning)                                           \
  {module, name, fn, taste, signature, meaning},
#include "eval/lib.def"
#undef LIB
};

const Builtin *lib_find(const char *module, const char *name) {
  for (size_t i = 0; i < LEN(lib); i++) {
    if (!strcmp(lib[i].name, name) && !strcmp(lib[i].module, module)) return &lib[i];
  }
  return NULL;
}

const Builtin *lib_at(int i) { return i < (int)LEN(lib) ? &lib[i] : NULL; }

bool lib_has(const char *module) {
  size_t n = strlen(module);
  for (size_t i = 0; i < LEN(lib); i++) {
    const char *m = lib[i].module;
    if (!strncmp(m, module, n) && (!m[n] || m[n] == '.')) return true;
  }
  return false;
}

static const char *const exceptions[] = {
  "BaseException",   "Exception",         "ArithmeticError",     "AssertionError", "AttributeError",
  "ImportError",     "IndexError",        "KeyError",            "LookupError",    "MemoryError",
  "NameError",       "NotImplementedError", "OverflowError",     "OSError",        "RecursionError",
  "RuntimeError",    "StopIteration",     "SystemExit",          "TypeError",      "ValueError",
  "ZeroDivisionError", "ModuleNotFoundError", "KeyboardInterrupt", "Warning",      "UserWarning",
  "DeprecationWarning", "FileNotFoundError", "PermissionError",  "TimeoutError",
};

// Names of Python that tlc has no use for: known, so that their use is no spelling error.
static const char *const opaques[] = {
    "super",      "bytes",
    "bytearray",  "memoryview", "complex",  "open",         "input",        "vars",
    "dir",        "globals",    "locals",   "exec",         "eval",         "compile",
    "help",       "next",       "setattr",  "delattr",      "hash",         "slice",
    "format",     "issubclass", "exit",     "quit",         "__import__",   "__file__",
    "__doc__",    "__debug__",  "__spec__", "__builtins__", "oct",          "ascii",
    "breakpoint",
};

void lib_install(Ev *ev, Env *env) {
  for (size_t i = 0; i < LEN(lib); i++) {
    if (!*lib[i].module)
      env_put(ev, env, lib[i].name, (Val){.kind = V_BUILTIN, .builtin = &lib[i]});
  }
  for (size_t i = 0; i < LEN(exceptions); i++) {
    Exc *x = NEW(ev->arena, Exc);
    x->type = exceptions[i];
    env_put(ev, env, exceptions[i], (Val){.kind = V_EXC, .exc = x});
  }
  for (size_t i = 0; i < LEN(opaques); i++)
    env_put(ev, env, opaques[i], v_opaque(ev, "%s", opaques[i]));
  env_put(ev, env, "NotImplemented", v_opaque(ev, "NotImplemented"));
}
