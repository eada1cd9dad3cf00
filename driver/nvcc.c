// --emit ptx, cubin and exe: the emitted text through nvcc.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/driver.h"
#include "runtime/runtime.h"

static const char exe_helpers[] =
    "static void tlc_need(cudaError_t e) {\n"
    "  if (e == cudaSuccess) return;\n"
    "  std::fprintf(stderr, \"%s\\n\", cudaGetErrorString(e));\n"
    "  std::exit(3);\n"
    "}\n\n"
    "struct tlc_tensor {\n"
    "  std::vector<unsigned char> host;\n"
    "  void *device = nullptr;\n"
    "  tlc_tensor(int64_t bytes, int float_bits, int input) : host(bytes) {\n"
    "    uint32_t x = 1;\n"
    "    for (int64_t i = 0; input && i < bytes; ++i) {\n"
    "      x = x * 1664525u + 1013904223u;\n"
    "      host[i] = x >> 24;\n"
    "      const int width = float_bits / 8; // the top byte of a float: magnitudes near 1\n"
    "      if (width > 1 && i % width == width - 1) host[i] = (x >> 8 & 0x80) | 0x3c;\n"
    "      if (width == 1) host[i] = (x >> 8 & 0x80) | 0x38;\n"
    "    }\n"
    "    tlc_need(cudaMalloc(&device, bytes + 16));\n"
    "    tlc_need(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice));\n"
    "  }\n"
    "  void report(const char *name) {\n"
    "    tlc_need(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost));\n"
    "    uint64_t h = 0xcbf29ce484222325u;\n"
    "    for (unsigned char c : host) h = (h ^ c) * 0x100000001b3u;\n"
    "    std::printf(\"%s: %zu bytes, FNV-1a %016llx\\n\", name, host.size(), (unsigned long "
    "long)h);\n"
    "  }\n"
    "};\n\n"
    "template <class F>\n"
    "static void tlc_time(F launch) {\n"
    "  cudaEvent_t start, stop;\n"
    "  tlc_need(cudaEventCreate(&start));\n"
    "  tlc_need(cudaEventCreate(&stop));\n"
    "  tlc_need(cudaEventRecord(start));\n"
    "  tlc_need(launch());\n"
    "  tlc_need(cudaEventRecord(stop));\n"
    "  tlc_need(cudaEventSynchronize(stop));\n"
    "  float ms = 0;\n"
    "  tlc_need(cudaEventElapsedTime(&ms, start, stop));\n"
    "  std::printf(\"one launch: %.3f ms\\n\", ms);\n"
    "}\n\n";

// A main for the launcher of `p`: run-time sizes are its arguments; inputs are small random
// numbers; it prints the time of a launch and a checksum of each output.
static void exe_main(const Program *p, Buf *b) {
  buf_puts(b, "\n// A program around the launcher, for --emit exe.\n#include <cstdio>\n"
              "#include <cstdlib>\n#include <vector>\n\n");
  buf_puts(b, exe_helpers);
  buf_puts(b, "int main(int argc, char **argv) {\n");
  buf_printf(b, "  if (argc != %d) {\n    std::fprintf(stderr, \"usage: %%s", p->sizes.len + 1);
  for (int i = 0; i < p->sizes.len; i++) buf_printf(b, " %s", p->sizes.data[i]->name);
  buf_puts(b, "\\n\", argv[0]);\n    return 2;\n  }\n");
  for (int i = 0; i < p->sizes.len; i++)
    buf_printf(b, "  const int64_t %s = std::atoll(argv[%d]);\n", p->sizes.data[i]->name, i + 1);
  Buf args = {0};
  for (int i = 0; i < p->params.len; i++) {
    const Param *param = &p->params.data[i];
    if (param->kind == PARAM_SCALAR) {
      buf_puts(&args, "1, ");
      continue;
    }
    int bits = dt_bits(param->buf->dtype);
    buf_printf(b, "  tlc_tensor t%d((int64_t)%d", i, bits);
    for (int k = 0; k < param->buf->ndim; k++) {
      buf_puts(b, " * (");
      ir_print_expr(param->buf->shape[k], b);
      buf_putc(b, ')');
    }
    buf_printf(b, " / 8, %d, %d);\n", dt_is_float(param->buf->dtype) ? bits : 0,
               param->role == ROLE_IN);
    buf_printf(&args, "t%d.device, ", i);
  }
  for (int i = 0; i < p->sizes.len; i++) buf_printf(&args, "%s, ", p->sizes.data[i]->name);
  if (p->workspaces.len) {
    buf_printf(b, "  tlc_tensor tlc_workspace((int64_t)%s_workspace(", p->symbol);
    for (int i = 0; i < p->sizes.len; i++)
      buf_printf(b, "%s%s", i ? ", " : "", p->sizes.data[i]->name);
    buf_puts(b, "), 0, 0);\n");
    buf_puts(&args, "tlc_workspace.device, ");
  }
  buf_printf(b, "  tlc_time([&] { return %s(%snullptr); });\n", p->symbol, buf_str(&args));
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_TENSOR && p->params.data[i].role != ROLE_IN)
      buf_printf(b, "  t%d.report(\"%s\");\n", i, p->params.data[i].name);
  buf_puts(b, "  return 0;\n}\n");
  buf_free(&args);
}

static int copy_file(Arena *a, const char *from, const char *to, bool executable) {
  size_t len;
  char *data = file_read(a, from, &len);
  if (data && !strcmp(to, "-")) return fwrite(data, 1, len, stdout) == len ? EXIT_OK : EXIT_MACHINE;
  if (data && file_write(to, data, len) == 0 && (!executable || chmod(to, 0755) == 0))
    return EXIT_OK;
  fprintf(stderr, "tlc: cannot write %s: %s\n", to, strerror(errno));
  return EXIT_MACHINE;
}

// -gencode for each target of a list.
static const char *const *gencode(const Job *j) {
  VEC(const char *) flags = {0};
  for (int i = 0; j->targets && j->targets[i]; i++)
    vec_push(j->arena, &flags,
             arena_printf(j->arena, "-gencode=arch=compute_%s,code=%s", j->targets[i]->name + 3,
                          j->targets[i]->name));
  vec_push(j->arena, &flags, NULL);
  return flags.data;
}

int drv_nvcc(Job *j, const Options *o, const char *output) {
  Buf text = {0}, err = {0};
  drv_text(j, o, EMIT_CU, &text);
  if (o->emit == EMIT_EXE) exe_main(j->tile.data[0], &text);
  RtBuild build = {.name = j->thread.data[0]->symbol,
                   .text = buf_str(&text),
                   .len = text.len,
                   .arch = j->targets ? NULL : j->target->name,
                   .flags = gencode(j),
                   .kind = o->emit == EMIT_PTX   ? RT_PTX
                           : o->emit == EMIT_EXE ? RT_EXE
                                                 : RT_CUBIN};
  const char *path;
  RtStatus s = rt_build(j->arena, &build, &path, NULL, &err);
  int status = s == RT_OK        ? copy_file(j->arena, path, output, o->emit == EMIT_EXE)
               : s == RT_MISSING ? EXIT_MACHINE
                                 : EXIT_BUG;
  if (s != RT_OK) fprintf(stderr, "tlc: %s\n", buf_str(&err));
  buf_free(&text);
  buf_free(&err);
  return status;
}
