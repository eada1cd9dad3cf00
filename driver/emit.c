// What --emit asks for: text and files, written whole or not at all.
// SPDX-License-Identifier: MIT
#include "driver/driver.h"

#include <errno.h>
#include <string.h>

#include "lexer/lex.h"
#include "parser/ast.h"

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static const char *suffix_of(EmitKind kind) {
  static const char *const suffixes[] = {".cu",       ".h",   ".json", ".tokens", ".ast",
                                         ".tile.tir", ".tir", ".ptx",  ".cubin",  ""};
  return suffixes[kind];
}

static const char *with_suffix(const Options *o, const char *path, const char *suffix) {
  const char *base = base_name(path), *dot = strrchr(base, '.');
  int n = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
  return arena_printf(o->arena, "%.*s%s", n, base, suffix);
}

// The default output: the input's stem in the current folder.
static const char *output_name(const Options *o) {
  return o->output ? o->output : with_suffix(o, o->input, suffix_of(o->emit));
}

const char *drv_cu_name(const Options *o) {
  const char *out = o->output && strcmp(o->output, "-") ? o->output : o->input;
  return o->emit == EMIT_CU && out == o->output ? base_name(out) : with_suffix(o, out, ".cu");
}

static int write_out(const char *path, const Buf *text) {
  if (!strcmp(path, "-")) {
    fwrite(buf_str(text), 1, text->len, stdout);
    return fflush(stdout) ? EXIT_MACHINE : EXIT_OK;
  }
  if (file_write(path, buf_str(text), text->len) == 0) return EXIT_OK;
  fprintf(stderr, "tlc: cannot write %s: %s\n", path, strerror(errno));
  return EXIT_MACHINE;
}

static void write_escaped(Buf *b, const char *path) {
  for (; *path; path++) {
    if (*path == ' ' || *path == '#' || *path == '\\') buf_putc(b, '\\');
    if (*path == '$') buf_putc(b, '$');
    buf_putc(b, *path);
  }
}

// A make rule: the target depends on every file read; each also gets an empty rule of its own, so
// that a deleted module does not stop the build.
static int write_deps(const Job *j, const Options *o, const char *output) {
  Buf b = {0};
  const char *path = o->dep_file;
  if (!path) {
    const char *dot = strrchr(base_name(output), '.');
    size_t n = dot ? (size_t)(dot - output) : strlen(output);
    path = arena_printf(o->arena, "%.*s.d", (int)n, output);
  }
  write_escaped(&b, o->dep_target ? o->dep_target : output);
  buf_putc(&b, ':');
  for (int i = 0; i < j->read.len; i++) {
    buf_putc(&b, ' ');
    write_escaped(&b, j->read.data[i]);
  }
  buf_putc(&b, '\n');
  for (int i = 1; i < j->read.len; i++) {
    write_escaped(&b, j->read.data[i]);
    buf_puts(&b, ":\n");
  }
  int status = write_out(path, &b);
  buf_free(&b);
  return status;
}

void drv_text(const Job *j, const Options *o, EmitKind kind, Buf *out) {
  int n = j->thread.len;
  if (kind == EMIT_TILE || kind == EMIT_IR) {
    const Program *const *p =
        (const Program *const *)(kind == EMIT_TILE ? j->tile.data : j->thread.data);
    for (int i = 0; i < (kind == EMIT_TILE ? j->tile.len : n); i++) ir_print(p[i], out);
    return;
  }
  const Program *const *programs = (const Program *const *)j->thread.data;
  CgOptions *cg = NEWN(j->arena, CgOptions, n + 1);
  for (int i = 0; i < n; i++) cg[i] = job_codegen(j, o, i);
  if (kind == EMIT_HEADER) cg_header_all(programs, cg, n, out);
  else if (kind == EMIT_MANIFEST) cg_manifest_all(programs, cg, n, out);
  else cg_cuda_all(programs, cg, n, out);
}

static bool wants_syntax_only(const Options *o) {
  return o->emit == EMIT_TOKENS || o->emit == EMIT_AST;
}

static bool emit_syntax(Job *j, const Options *o, Buf *out) {
  if (o->emit == EMIT_TOKENS) {
    Tokens tokens = lex_file(j->arena, j->diags, j->file);
    lex_dump(&tokens, j->sources, out);
  } else {
    AstModule *m = ast_parse(j->arena, j->diags, j->file);
    if (m) ast_dump(m, out);
  }
  return diag_errors(j->diags) == 0;
}

static int emit_side_files(const Job *j, const Options *o, const char *output) {
  int status = EXIT_OK;
  Buf b = {0};
  if (o->header) {
    drv_text(j, o, EMIT_HEADER, &b);
    status = write_out(o->header, &b);
    b.len = 0;
  }
  if (!status && o->manifest) {
    drv_text(j, o, EMIT_MANIFEST, &b);
    status = write_out(o->manifest, &b);
  }
  buf_free(&b);
  return status || !o->deps ? status : write_deps(j, o, output);
}

int drv_emit(Job *j, const Options *o) {
  Buf out = {0};
  bool ok = wants_syntax_only(o)   ? emit_syntax(j, o, &out)
            : o->emit == EMIT_TILE ? job_front(j, o)
                                   : job_compile(j, o);
  int status = ok ? EXIT_OK : EXIT_WRONG_PROGRAM;
  const char *output = output_name(o);
  if (ok && o->emit >= EMIT_PTX) {
    status = drv_nvcc(j, o, output);
  } else if (ok) {
    if (!wants_syntax_only(o)) drv_text(j, o, o->emit, &out);
    status = write_out(output, &out);
  }
  if (!status) status = emit_side_files(j, o, output);
  buf_free(&out);
  return status;
}
