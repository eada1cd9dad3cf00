// --emit ptx, cubin and exe: the emitted text through nvcc.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "driver/driver.h"
#include "runtime/runtime.h"

static int copy_file(Arena *a, const char *from, const char *to) {
  size_t len;
  char *data = file_read(a, from, &len);
  if (data && !strcmp(to, "-")) return fwrite(data, 1, len, stdout) == len ? EXIT_OK : EXIT_MACHINE;
  if (data && file_write(to, data, len) == 0) return EXIT_OK;
  fprintf(stderr, "tlc: cannot write %s: %s\n", to, strerror(errno));
  return EXIT_MACHINE;
}

int drv_nvcc(Job *j, const Options *o, const char *output) {
  if (o->emit == EMIT_EXE) {
    fprintf(stderr, "tlc: --emit exe is not supported yet; --run and --bench run a kernel\n");
    return EXIT_USAGE;
  }
  Buf text = {0}, err = {0};
  drv_text(j, o, EMIT_CU, &text);
  RtBuild build = {.name = j->thread.data[0]->symbol,
                   .text = buf_str(&text),
                   .len = text.len,
                   .arch = j->target->name,
                   .kind = o->emit == EMIT_PTX ? RT_PTX : RT_CUBIN};
  const char *path;
  RtStatus s = rt_build(j->arena, &build, &path, NULL, &err);
  int status = s == RT_OK        ? copy_file(j->arena, path, output)
               : s == RT_MISSING ? EXIT_MACHINE
                                 : EXIT_BUG;
  if (s != RT_OK) fprintf(stderr, "tlc: %s\n", buf_str(&err));
  buf_free(&text);
  buf_free(&err);
  return status;
}
