// Whole-file reads and atomic writes.
// SPDX-License-Identifier: MIT
#include "base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_OF_PIPE = 64 << 20 };

char *file_read(Arena *a, const char *path, size_t *len) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  struct stat st = {0};
  if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
    fclose(f);
    errno = EISDIR;
    return NULL;
  }
  Buf b = {0};
  char chunk[16384];
  bool endless = false;
  for (size_t n; !endless && (n = fread(chunk, 1, sizeof chunk, f)) > 0;) {
    buf_add(&b, chunk, n);
    endless = !S_ISREG(st.st_mode) && b.len > MOST_OF_PIPE;
  }
  bool failed = ferror(f) || endless;
  fclose(f);
  char *text = failed ? NULL : arena_strn(a, buf_str(&b), b.len);
  if (len) *len = b.len;
  buf_free(&b);
  if (endless) errno = EFBIG;
  return text;
}

static bool same_bytes(const char *path, const char *data, size_t len) {
  Arena *a = arena_new();
  size_t old_len = 0;
  char *old = file_read(a, path, &old_len);
  bool same = old && old_len == len && !memcmp(old, data, len);
  arena_free(a);
  return same;
}

int file_write(const char *path, const char *data, size_t len) {
  struct stat st;
  bool there = stat(path, &st) == 0, regular = !there || S_ISREG(st.st_mode);
  if (regular && same_bytes(path, data, len)) return 0;
  Buf temp = {0};
  char *real = regular ? realpath(path, NULL) : NULL; // a link stays one
  if (real) path = real;
  buf_printf(&temp, "%s%s", path, regular ? ".tmp" : "");
  if (regular) buf_printf(&temp, "%ld", (long)getpid());
  FILE *f = fopen(temp.data, "wb");
  if (f && regular && there) (void)fchmod(fileno(f), st.st_mode & 07777); // as it was
  bool ok = f && fwrite(data, 1, len, f) == len;
  if (f) ok = fclose(f) == 0 && ok;
  if (ok && regular) ok = rename(temp.data, path) == 0;
  if (!ok && regular) {
    int saved = errno;
    unlink(temp.data);
    errno = saved;
  }
  buf_free(&temp);
  free(real);
  return ok ? 0 : -1;
}
