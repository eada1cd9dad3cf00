// Builds an emitted .cu with g++ and the host prelude, and calls its launcher. Libraries are cached
// by the text's hash under build/tests/text.
// SPDX-License-Identifier: MIT
#ifndef TLC_TESTS_TEXT_HOST_H
#define TLC_TESTS_TEXT_HOST_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/codegen.h"

typedef struct {
  int (*call)(void *const *args); // a cudaError_t
  int (*check)(void *const *args, char *msg, size_t n);
  size_t (*workspace)(void *const *args); // bytes; the workspace is the last argument
} TextKernel;

static inline void text_params(const Program *p, Buf *out) {
  int n = 0;
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (q->kind == PARAM_TENSOR) buf_printf(out, "a[%d], ", n++);
    else buf_printf(out, "*static_cast<const %s *>(a[%d]), ", dt_abi(q->var->type), n++);
  }
  for (int i = 0; i < p->sizes.len; i++)
    buf_printf(out, "*static_cast<const int64_t *>(a[%d]), ", n++);
  if (p->workspaces.len) buf_printf(out, "a[%d], ", n++);
}

// Bytes of the workspace: of arguments whose last is not there yet.
static inline void text_workspace(const Program *p, Buf *out) {
  buf_printf(out, "extern \"C\" size_t text_workspace_%s(void *const *a) {\n  (void)a;\n",
             p->symbol);
  if (!p->workspaces.len) buf_puts(out, "  return 0");
  else buf_printf(out, "  return %s_workspace(", p->symbol);
  for (int i = 0; p->workspaces.len && i < p->sizes.len; i++)
    buf_printf(out, "%s*static_cast<const int64_t *>(a[%d])", i ? ", " : "", p->params.len + i);
  buf_puts(out, p->workspaces.len ? ");\n}\n" : ";\n}\n");
}

// Two functions of fixed signature that pass on an array of arguments: tensors by address, scalars
// and sizes by the address of their value.
static inline void text_entry(const Program *p, Buf *out) {
  buf_printf(out, "\nextern \"C\" int text_call_%s(void *const *a) {\n", p->symbol);
  buf_printf(out, "  (void)a;\n  return %s(", p->symbol);
  text_params(p, out);
  buf_printf(out, "nullptr);\n}\nextern \"C\" int text_check_%s(", p->symbol);
  buf_printf(out, "void *const *a, char *m, size_t n) {\n  (void)a;\n  return %s_check(",
             p->symbol);
  text_params(p, out);
  buf_puts(out, "m, n);\n}\n");
  text_workspace(p, out);
}

static inline void text_folder(char *path, size_t n) {
  const char *build = getenv("TLC_TEXTS"); // shared by builds of different flags
  if (!build) build = getenv("BUILD");
  snprintf(path, n, "%s", build ? build : "build");
  mkdir(path, 0777);
  snprintf(path, n, "%s/tests", build ? build : "build");
  mkdir(path, 0777);
  snprintf(path, n, "%s/tests/text", build ? build : "build");
  mkdir(path, 0777);
}

static inline int text_write(const char *path, const Buf *text) {
  return file_write(path, buf_str(text), text->len);
}

// Compiles the text of n programs into a library, unless that was done; its path is malloc'ed. NULL
// after printing what g++ said.
static inline char *text_build(const Buf *text) {
  char folder[256], cu[512], so[512], host[512], command[4096];
  Buf prelude = {0};
  text_folder(folder, sizeof folder);
  cg_host_prelude(&prelude);
  uint64_t hp = hash_bytes(buf_str(&prelude), prelude.len, 0);
  uint64_t h = hash_bytes(buf_str(text), text->len, hp);
  snprintf(host, sizeof host, "%s/host_%016llx.h", folder, (unsigned long long)hp);
  snprintf(cu, sizeof cu, "%s/%016llx.cu", folder, (unsigned long long)h);
  snprintf(so, sizeof so, "%s/%016llx.so", folder, (unsigned long long)h);
  bool ok = true;
  if (access(so, R_OK)) {
    snprintf(command, sizeof command,
             "g++ -std=c++17 -O1 -w -fno-strict-aliasing -ffp-contract=off -shared -fPIC -x c++ "
             "-DTLC_HOST='\"%s\"' -o %s.%d %s && mv %s.%d %s",
             strrchr(host, '/') + 1, so, (int)getpid(), cu, so, (int)getpid(), so);
    ok = !text_write(host, &prelude) && !text_write(cu, text) && system(command) == 0;
    if (!ok) fprintf(stderr, "%s\n", command);
  }
  buf_free(&prelude);
  return ok ? realpath(so, NULL) : NULL;
}

// The library of n programs; NULL after printing why.
static inline void *text_open(const Program *const *p, const CgOptions *o, int n) {
  Buf text = {0};
  cg_cuda_all(p, o, n, &text);
  for (int i = 0; i < n; i++) text_entry(p[i], &text);
  char *path = text_build(&text);
  buf_free(&text);
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (path && !library) fprintf(stderr, "%s\n", dlerror());
  free(path);
  return library;
}

static inline TextKernel text_kernel(void *library, const char *symbol) {
  char name[256];
  TextKernel k;
  snprintf(name, sizeof name, "text_call_%s", symbol);
  *(void **)&k.call = dlsym(library, name);
  snprintf(name, sizeof name, "text_check_%s", symbol);
  *(void **)&k.check = dlsym(library, name);
  snprintf(name, sizeof name, "text_workspace_%s", symbol);
  *(void **)&k.workspace = dlsym(library, name);
  return k;
}

// One program; false after printing what g++ said.
static inline bool text_load(const Program *p, const CgOptions *o, TextKernel *k) {
  void *library = text_open(&p, o, 1);
  if (!library) return false;
  *k = text_kernel(library, p->symbol);
  return k->call && k->check;
}

#endif
