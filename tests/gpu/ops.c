// Every thread-level op alone, on a GPU against the emulator.
//   ops gen FOLDER [sm_90a]     writes ops.cu (all micro programs and a main) and ops.in (their
//                               arguments); with sm_90a the programs of tests/unit/micro_sm90.h
//   ops check FOLDER [sm_90a]   compares ops.out, which the built ops.cu wrote, with the emulator
// SPDX-License-Identifier: MIT
#include "tests/unit/hopper_gemm.h"
#include "tests/unit/micro_sm90.h"
#include "tests/unit/micro_wgmma.h"
#include "tests/unit/text_host.h"

static const char main_text[] =
    "\n#include <cstdio>\n#include <vector>\n\n"
    "// ops IN OUT: runs each program on its arguments of IN and writes them back to OUT.\n"
    "int main(int argc, char **argv) {\n"
    "  FILE *in = fopen(argv[argc - 2], \"rb\"), *out = fopen(argv[argc - 1], \"wb\");\n"
    "  if (!in || !out) return 2;\n"
    "  for (const Job &job : jobs) {\n"
    "    std::vector<std::vector<char>> host;\n"
    "    std::vector<void *> device;\n"
    "    for (const size_t bytes : job.bytes) {\n"
    "      host.emplace_back(bytes);\n"
    "      if (fread(host.back().data(), 1, bytes, in) != bytes) return 2;\n"
    "      void *p;\n"
    "      if (cudaMalloc(&p, bytes)) return 3;\n"
    "      cudaMemcpy(p, host.back().data(), bytes, cudaMemcpyHostToDevice);\n"
    "      device.push_back(p);\n"
    "    }\n"
    "    const int error = job.call(device.data()), late = cudaDeviceSynchronize();\n"
    "    if (error || late) {\n"
    "      fprintf(stderr, \"%s: error %d, %d\\n\", job.name, error, late);\n"
    "      return 1;\n"
    "    }\n"
    "    for (size_t i = 0; i < device.size(); i++) {\n"
    "      cudaMemcpy(host[i].data(), device[i], host[i].size(), cudaMemcpyDeviceToHost);\n"
    "      fwrite(host[i].data(), 1, host[i].size(), out);\n"
    "      cudaFree(device[i]);\n"
    "    }\n"
    "  }\n"
    "  return fclose(out) != 0;\n"
    "}\n";

static void jobs_table(const Micros *s, Buf *text) {
  buf_puts(text, "\n#include <vector>\n\nstruct Job {\n  const char *name;\n"
                 "  int (*call)(void *const *);\n  std::vector<size_t> bytes;\n};\n"
                 "static const Job jobs[] = {\n");
  for (int i = 0; i < s->list.len; i++) {
    const Micro *m = s->list.data[i];
    buf_printf(text, "    {\"%s\", text_call_%s, {", m->p->symbol, m->p->symbol);
    for (int k = 0; k < m->p->params.len; k++)
      buf_printf(text, "%s%zu", k ? ", " : "", m->arg[k].bytes);
    buf_puts(text, "}},\n");
  }
  buf_puts(text, "};\n");
}

static int write_in(const char *folder, const char *name, const Buf *b) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (file_write(path, buf_str(b), b->len) == 0) return 0;
  perror(path);
  return 1;
}

static int generate(const Micros *s, const char *folder, const Target *target) {
  int n = s->list.len;
  const Program **p = NEWN(s->a, const Program *, n);
  CgOptions *o = NEWN(s->a, CgOptions, n);
  Buf text = {0}, in = {0};
  for (int i = 0; i < n; i++) {
    const Micro *m = s->list.data[i];
    p[i] = m->p;
    o[i] = (CgOptions){.target = target, .out_name = "ops.cu"};
    for (int k = 0; k < m->p->params.len; k++) buf_add(&in, m->arg[k].data, m->arg[k].bytes);
  }
  cg_cuda_all(p, o, n, &text);
  for (int i = 0; i < n; i++) text_entry(p[i], &text);
  jobs_table(s, &text);
  buf_puts(&text, main_text);
  int bad = write_in(folder, "ops.cu", &text) || write_in(folder, "ops.in", &in);
  buf_free(&text);
  buf_free(&in);
  return bad;
}

// Elements that differ over all programs, one line for each tensor that does.
static int check(const Micros *s, const char *folder, const Target *target) {
  char path[512];
  size_t len;
  snprintf(path, sizeof path, "%s/ops.out", folder);
  const char *got = file_read(s->a, path, &len), *end = got ? got + len : NULL;
  int bad = got == NULL, wrong = 0;
  if (!got) perror(path);
  for (int i = 0; got && i < s->list.len; i++) {
    const Micro *m = s->list.data[i];
    Diags *d = diag_new(s->a, src_new(s->a), (DiagOptions){0});
    EmuReport report;
    EmuCall call = {.args = (EmuArg *)m->arg};
    if (!emu_run(m->p, &call, target, &(EmuOptions){.seed = 1}, &report, d)) bad++;
    diag_flush(d, stderr);
    for (int k = 0; k < m->p->params.len; got += m->arg[k++].bytes) {
      if ((size_t)(end - got) < m->arg[k].bytes) return fprintf(stderr, "%s: too short\n", path), 1;
      wrong += micro_compare(m, k, got, m->arg[k].data) > 0;
    }
  }
  printf("ops: %d programs, %d tensors differ\n", s->list.len, wrong);
  return bad + wrong != 0;
}

int main(int argc, char **argv) {
  bool sm90 = argc == 4 && !strcmp(argv[3], "sm_90a");
  if (argc != 3 + sm90) return fprintf(stderr, "usage: ops gen|check FOLDER [sm_90a]\n"), 2;
  Micros s;
  Arena *a = arena_new();
  const Target *target = target_find(sm90 ? "sm_90a" : "sm_80");
  if (!sm90) micro_all(&s, a);
  if (sm90) {
    micro_sm90_all(&s, a);
    micro_wgmma_all(&s);
    micro_wgmma_widths(&s);
    micro_text(&s, hopper_gemm);
    s.m->rel[2] = -2e-3; // sums of 256 products up to 4
  }
  int status = strcmp(argv[1], "gen") ? check(&s, argv[2], target) : generate(&s, argv[2], target);
  arena_free(a);
  return status;
}
