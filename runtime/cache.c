// The cache of compiled kernels: $XDG_CACHE_HOME/tlc, ~/.cache/tlc, else a private folder in
// $TMPDIR or /tmp.
// SPDX-License-Identifier: MIT
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CACHE_LIMIT ((int64_t)1 << 30)
#define DRAFT_S 3600 // a younger one is somebody's who is at work on it

static bool make_folders(char *path) {
  for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    bool ok = mkdir(path, 0755) == 0 || errno == EEXIST;
    *slash = '/';
    if (!ok) return false;
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

// Code is loaded from here, so nobody else may own it or write to it.
static bool is_private(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
         !(st.st_mode & (S_IWGRP | S_IWOTH));
}

const char *cache_root(Arena *a, bool spare, bool *unsafe, Buf *err) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  const char *tmp = getenv("TMPDIR");
  char *path;
  if (!spare && xdg && xdg[0] == '/') path = arena_printf(a, "%s/tlc", xdg);
  else if (!spare && home && home[0] == '/') path = arena_printf(a, "%s/.cache/tlc", home);
  else path = arena_printf(a, "%s/tlc-%ld", tmp && tmp[0] == '/' ? tmp : "/tmp", (long)geteuid());
  bool there = make_folders(path);
  *unsafe = there && !is_private(path);
  if (there && !*unsafe) return path;
  buf_printf(err,
             "cannot use the cache folder %s: it must be a folder that only you can write to; "
             "set XDG_CACHE_HOME to a place for it",
             path);
  return NULL;
}

static char *entry_path(Arena *a, const char *root, CacheKey key) {
  return arena_printf(a, "%s/%016llx%016llx", root, (unsigned long long)key.hi,
                      (unsigned long long)key.lo);
}

const char *cache_find(Arena *a, const char *root, CacheKey key, const char *file) {
  const char *entry = entry_path(a, root, key), *path = arena_printf(a, "%s/%s", entry, file);
  if (access(path, R_OK)) return NULL;
  utimensat(AT_FDCWD, entry, NULL, 0); // failing only makes it look less used than it is
  return path;
}

const char *cache_draft(Arena *a, const char *root, Buf *err) {
  char *path = arena_printf(a, "%s/draft-XXXXXX", root);
  if (mkdtemp(path)) return path;
  buf_printf(err, "cannot make a folder in %s: %s", root, strerror(errno));
  return NULL;
}

typedef void OnFile(const char *path, const struct stat *st, void *ctx);

// Calls `f` on what a folder holds, one level deep.
static void each_in(const char *folder, OnFile *f, void *ctx) {
  DIR *d = opendir(folder);
  if (!d) return;
  Buf path = {0};
  for (struct dirent *e; (e = readdir(d));) {
    struct stat st;
    path.len = 0;
    buf_printf(&path, "%s/%s", folder, e->d_name);
    if (e->d_name[0] != '.' && lstat(path.data, &st) == 0) f(path.data, &st, ctx);
  }
  buf_free(&path);
  closedir(d);
}

static void remove_file(const char *path, const struct stat *st, void *ctx) { unlink(path); }

void cache_discard(const char *draft) {
  each_in(draft, remove_file, NULL);
  rmdir(draft);
}

typedef struct {
  char *path;
  int64_t bytes, used; // used: seconds since 1970
} Entry;

typedef struct {
  Arena *a;
  VEC(Entry) list;
  int64_t total;
} Entries;

static void add_bytes(const char *path, const struct stat *st, void *ctx) {
  *(int64_t *)ctx += (int64_t)st->st_blocks * 512;
}

static void add_entry(const char *path, const struct stat *st, void *ctx) {
  Entries *all = ctx;
  Entry e = {arena_str(all->a, path), 0, (int64_t)st->st_mtime};
  if (!S_ISDIR(st->st_mode)) return;
  each_in(path, add_bytes, &e.bytes);
  vec_push(all->a, &all->list, e);
  all->total += e.bytes;
}

static int oldest_first(const void *a, const void *b) {
  int64_t x = ((const Entry *)a)->used, y = ((const Entry *)b)->used;
  return (x > y) - (x < y);
}

static bool in_use(const Entry *e) {
  const char *name = strrchr(e->path, '/');
  return !strncmp(name, "/draft-", 7) && time(NULL) - e->used < DRAFT_S;
}

// Drafts go through the same rule: one left behind by a killed process ages and is removed.
static void trim(const char *root) {
  Entries all = {.a = arena_new()};
  each_in(root, add_entry, &all);
  if (all.list.len) qsort(all.list.data, (size_t)all.list.len, sizeof(Entry), oldest_first);
  for (int i = 0; i < all.list.len - 1 && all.total > CACHE_LIMIT; i++) {
    if (in_use(&all.list.data[i])) continue;
    cache_discard(all.list.data[i].path);
    all.total -= all.list.data[i].bytes;
  }
  arena_free(all.a);
}

// A look at all entries takes longer the more there are: not after each that is added.
static void trim_at_times(const char *root, const char *added) {
  static int64_t since = CACHE_LIMIT; // bytes since the last look: a process begins with one
  each_in(added, add_bytes, &since);
  if (since < CACHE_LIMIT / 16) return;
  since = 0;
  trim(root);
}

bool cache_publish(const char *root, const char *draft, CacheKey key, Buf *err) {
  Arena *a = arena_new();
  const char *entry = entry_path(a, root, key);
  bool ok = rename(draft, entry) == 0;
  if (!ok && (errno == EEXIST || errno == ENOTEMPTY)) {
    cache_discard(draft);
    ok = true;
  }
  if (!ok) buf_printf(err, "cannot rename %s to %s: %s", draft, entry, strerror(errno));
  if (ok) trim_at_times(root, entry);
  arena_free(a);
  return ok;
}
