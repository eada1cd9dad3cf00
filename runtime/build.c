// Compiles CUDA text with nvcc, keeping results by content.
// SPDX-License-Identifier: MIT
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Finding nvcc */

static bool is_program(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static const char *in_path(Arena *a, const char *name) {
  const char *list = getenv("PATH");
  while (list && *list) {
    const char *colon = strchrnul(list, ':');
    const char *path = arena_printf(a, "%.*s/%s", (int)(colon - list), list, name);
    if (colon > list && is_program(path)) return path;
    list = *colon ? colon + 1 : colon;
  }
  return NULL;
}

const char *rt_nvcc(Arena *a, Buf *err) {
  const char *own = getenv("CUDACXX"), *home = getenv("CUDA_HOME"), *path = NULL;
  if (own && *own) {
    path = strchr(own, '/') ? is_program(own) ? own : NULL : in_path(a, own);
    if (path) return arena_str(a, path);
    buf_printf(err, "CUDACXX is '%s', which is not a program", own);
    return NULL;
  }
  if (home && *home) {
    path = arena_printf(a, "%s/bin/nvcc", home);
    if (is_program(path)) return path;
  }
  path = in_path(a, "nvcc");
  if (!path && is_program("/usr/local/cuda/bin/nvcc")) path = "/usr/local/cuda/bin/nvcc";
  if (!path)
    buf_puts(err, "nvcc not found: looked at $CUDACXX, $CUDA_HOME/bin, $PATH and "
                  "/usr/local/cuda/bin");
  return path;
}

/* Running it */

// Runs a program in a folder. Its stdout and stderr go to `out`. Returns its exit status, or -1
// with errno set where it did not start or was killed (EINTR).
static int run_in(const char *folder, char *const *argv, Buf *out) {
  int ends[2], status = 0;
  if (pipe2(ends, O_CLOEXEC)) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t pid;
  int failure = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char chunk[4096];
  for (ssize_t n = 1; !failure && n != 0;) {
    n = read(ends[0], chunk, sizeof chunk);
    if (n > 0) buf_add(out, chunk, (size_t)n);
    else if (n < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (failure) {
    errno = failure;
    return -1;
  }
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  errno = EINTR;
  return -1;
}

static const char *const suffixes[] = {
    [RT_SHARED] = "so", [RT_CUBIN] = "cubin", [RT_PTX] = "ptx", [RT_EXE] = "exe"};

typedef VEC(char *) Args;

static void add(Arena *a, Args *args, const char *s) { vec_push(a, args, arena_str(a, s)); }

static char **command(Arena *a, const RtBuild *b, const char *nvcc, const char *in,
                      const char *out) {
  Args args = {0};
  add(a, &args, nvcc);
  add(a, &args, "-std=c++17");
  // -arch=sm_X has PTX made, too, which takes a quarter of the time and would never run.
  if (b->arch && b->kind == RT_SHARED && !strncmp(b->arch, "sm_", 3))
    add(a, &args, arena_printf(a, "-gencode=arch=compute_%s,code=%s", b->arch + 3, b->arch));
  else if (b->arch) add(a, &args, arena_printf(a, "-arch=%s", b->arch));
  if (b->kind == RT_SHARED) {
    add(a, &args, "-shared");
    add(a, &args, "-Xcompiler");
    add(a, &args, "-fPIC");
  } else if (b->kind != RT_EXE) {
    add(a, &args, b->kind == RT_CUBIN ? "-cubin" : "-ptx");
  }
  for (const char *const *f = b->flags; f && *f; f++) add(a, &args, *f);
  add(a, &args, "-o");
  add(a, &args, out);
  add(a, &args, in);
  vec_push(a, &args, NULL);
  return args.data;
}

/* The cache's key: everything that the result depends on, nvcc itself by path, size and time */

static void hash_part(CacheKey *k, const void *data, size_t n) {
  uint64_t len = n;
  k->hi = hash_bytes(data, n, hash_bytes(&len, sizeof len, k->hi));
  k->lo = hash_bytes(&len, sizeof len, hash_bytes(data, n, k->lo ^ UINT64_C(0x9e3779b97f4a7c15)));
}

static CacheKey key_of(Arena *a, const RtBuild *b, char *const *argv) {
  CacheKey k = {1, 2};
  struct stat st = {0};
  stat(argv[0], &st);
  char *tool = arena_printf(a, "%lld %lld", (long long)st.st_size, (long long)st.st_mtime);
  hash_part(&k, tool, strlen(tool));
  for (; *argv; argv++) hash_part(&k, *argv, strlen(*argv));
  hash_part(&k, b->text, b->len);
  return k;
}

/* A build in two steps, and in one */

// The text in a new folder beside the entries of `root`.
static bool draft(Arena *a, const RtBuild *b, const char *root, const char *in, RtPlan *p,
                  Buf *err) {
  p->root = root;
  p->folder = cache_draft(a, root, err);
  if (!p->folder) return false;
  const char *source = arena_printf(a, "%s/%s", p->folder, in);
  if (file_write(source, b->text, b->len) == 0) return true;
  buf_printf(err, "cannot write %s: %s", source, strerror(errno));
  cache_discard(p->folder);
  return false;
}

// Looks into the cache's folder and the spare one, then makes a draft in the first that takes it.
static RtStatus plan_in(Arena *a, const RtBuild *b, const char *in, CacheKey key, RtPlan *p,
                        Buf *err) {
  const char *root[2];
  bool unsafe[2] = {false}, ok = false;
  Buf why = {0};
  for (int i = 0; i < 2 && !p->path && !unsafe[0]; i++) {
    root[i] = cache_root(a, i > 0, &unsafe[i], i ? &why : err);
    p->path = root[i] ? cache_find(a, root[i], key, p->out) : NULL;
    p->root = root[i];
  }
  if (!unsafe[0]) ok = p->path || (root[0] && draft(a, b, root[0], in, p, err));
  if (!ok && !unsafe[0] && root[1] && draft(a, b, root[1], in, p, &why)) {
    p->aside = arena_str(a, buf_str(err));
    ok = true;
  }
  if (ok) err->len = 0;
  buf_free(&why);
  return ok ? RT_OK : RT_FAILED;
}

RtStatus rt_build_plan(Arena *a, const RtBuild *b, RtPlan *p, Buf *err) {
  const char *nvcc = rt_nvcc(a, err), *name = b->name ? b->name : "kernel";
  *p = (RtPlan){0};
  if (!nvcc) return RT_MISSING;
  const char *in = arena_printf(a, "%s.cu", name);
  p->out = arena_printf(a, "%s.%s", name, suffixes[b->kind]);
  p->argv = command(a, b, nvcc, in, p->out);
  CacheKey key = key_of(a, b, p->argv);
  p->key[0] = key.hi;
  p->key[1] = key.lo;
  return plan_in(a, b, in, key, p, err);
}

RtStatus rt_build_done(Arena *a, RtPlan *p, bool good, Buf *err) {
  CacheKey key = {p->key[0], p->key[1]};
  good = good && cache_publish(p->root, p->folder, key, err);
  if (!good) {
    cache_discard(p->folder);
    return RT_FAILED;
  }
  p->path = cache_find(a, p->root, key, p->out);
  if (p->path) return RT_OK;
  buf_printf(err, "%s vanished from the cache folder %s", p->out, p->root);
  return RT_FAILED;
}

RtStatus rt_build(Arena *a, const RtBuild *b, const char **path, Buf *log, Buf *err) {
  RtPlan p;
  RtStatus s = rt_build_plan(a, b, &p, err);
  if (s == RT_OK && !p.path) {
    Buf said = {0};
    int status = run_in(p.folder, p.argv, &said);
    if (status < 0) buf_printf(err, "cannot run %s: %s", p.argv[0], strerror(errno));
    else if (status > 0)
      buf_printf(err, "nvcc failed with exit status %d:\n%s", status, buf_str(&said));
    s = rt_build_done(a, &p, status == 0, err);
    if (log && s == RT_OK) buf_add(log, said.data, said.len);
    buf_free(&said);
  }
  *path = p.path;
  return s;
}
