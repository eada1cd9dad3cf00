// base: memory, text, tables, sources and diagnostics. Every other folder builds on this one.
// SPDX-License-Identifier: MIT
#ifndef TLC_BASE_H
#define TLC_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NORETURN __attribute__((noreturn))
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* arena.c: bump allocation by lifetime; nothing is freed one by one */

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *a); // releases everything allocated from it; NULL is fine
void *arena_alloc(Arena *a, size_t size); // zeroed, 16-byte aligned, never NULL
void *arena_copy(Arena *a, const void *data, size_t size);
char *arena_str(Arena *a, const char *s);
char *arena_strn(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(Arena *a, const char *fmt, va_list ap);
size_t arena_bytes(const Arena *a); // bytes taken from the system so far

#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define NEWN(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* vec.c: growing arrays in an arena. VEC(T) v = {0}; vec_push(arena, &v, item); v.data[i]; v.len */

#define VEC(T)                                                                                     \
  struct {                                                                                         \
    T *data;                                                                                       \
    int len, cap;                                                                                  \
  }
#define vec_push(a, v, ...)                                                                        \
  (vec_reserve((a), (void **)&(v)->data, &(v)->cap, (v)->len + 1, sizeof(*(v)->data)),             \
   (v)->data[(v)->len++] = (__VA_ARGS__))
void vec_reserve(Arena *a, void **data, int *cap, int need, size_t item);

/* buf.c: a growing byte string on the heap */

typedef struct {
  char *data; // always NUL-terminated once anything was added
  size_t len, cap;
} Buf;

void buf_add(Buf *b, const char *s, size_t n);
void buf_puts(Buf *b, const char *s);
void buf_putc(Buf *b, char c);
void buf_printf(Buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(Buf *b, const char *fmt, va_list ap);
void buf_free(Buf *b); // and resets it to empty
const char *buf_str(const Buf *b); // "" when empty

/* map.c: string -> pointer hash table in an arena, insertion order kept */

typedef struct Map Map;

Map *map_new(Arena *a);
void map_set(Map *m, const char *key, void *value); // the key is copied
void *map_get(const Map *m, const char *key); // NULL when absent
bool map_has(const Map *m, const char *key);
int map_len(const Map *m);
const char *map_key(const Map *m, int i); // i-th key in insertion order
void *map_value(const Map *m, int i);

/* hash.c */

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed); // FNV-1a, 64 bit
// The name among `names` (NULL-terminated) nearest to `word` by edit distance, or NULL when none is
// near enough to suggest (more than a third of the word differs).
const char *near_name(const char *word, const char *const *names);

/* file.c */

// Whole file as bytes with a NUL after them; NULL with errno set on failure. What is no regular
// file has an end, too: EFBIG.
char *file_read(Arena *a, const char *path, size_t *len);
// Writes through a temporary file in the same folder and renames; keeps the old file (and its time)
// when the bytes are equal. Returns 0, or -1 with errno set and the old file untouched.
int file_write(const char *path, const char *data, size_t len);

/* source.c: files by number, spans as byte offsets */

typedef struct {
  uint32_t file; // 0: no place
  uint32_t lo, hi; // byte offsets, half open
} Span;

typedef struct {
  const char *path; // as the user named it
  const char *text; // NUL-terminated; ends in a newline
  uint32_t len;
} Source;

typedef struct Sources Sources;

Sources *src_new(Arena *a);
uint32_t src_add(Sources *s, const char *path, const char *text, size_t len); // -> file number >= 1
const Source *src_get(const Sources *s, uint32_t file);
int src_count(const Sources *s);
// 1-based line and column (in bytes) of a byte offset.
void src_place(const Sources *s, uint32_t file, uint32_t offset, int *line, int *column);
// The text of a 1-based line without its newline; its length in *len.
const char *src_line(const Sources *s, uint32_t file, int line, int *len);
// The distinct names that the text of a place reads, as Python would see them: no attributes, no
// keywords of calls, nothing in strings (fields of f-strings apart). Returns how many, at most max.
int src_names(const Sources *s, Arena *a, Span at, const char **out, int max);
Span span_join(Span a, Span b); // from the start of a to the end of b
#define NO_SPAN ((Span){0, 0, 0})

/* diag.c: what tlc says about the user's program. Ids and texts: diags.def */

typedef enum { SEV_ERROR, SEV_WARNING, SEV_NOTE, SEV_REMARK } Severity;

typedef enum {
#define DIAG(id, code, severity, format) id,
#include "diags.def"
#undef DIAG
  DIAG_COUNT
} DiagId;

typedef struct Diags Diags;

typedef enum { DIAG_TEXT, DIAG_JSON } DiagFormat;

typedef struct {
  DiagFormat format;
  bool color;
  bool werror; // warnings count as errors
  int max_errors; // 0: 20
  bool remarks; // print remarks
} DiagOptions;

Diags *diag_new(Arena *a, Sources *s, DiagOptions options);
Sources *diag_sources(Diags *d);
// Reports one diagnostic of the table; the arguments fit its format.
void diag_report(Diags *d, DiagId id, Span at, ...);
// Adds a secondary line to the diagnostic reported last ("declared here"); place may be NO_SPAN.
void diag_note(Diags *d, Span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
// Says, for editors, what the diagnostic reported last would have written at a place instead.
void diag_fix(Diags *d, Span at, const char *text);
// Says what was decided at a place; printed only with --remarks, and always kept in order.
void diag_remark(Diags *d, Span at, const char *topic, const char *fmt, ...) PRINTF_LIKE(4, 5);
int diag_errors(const Diags *d); // number of errors so far (warnings too, under werror)
int diag_mark(const Diags *d);
// Forgets what was reported since diag_mark: a try that is made again another way.
void diag_rewind(Diags *d, int mark);
// Prints everything reported so far and not yet printed, sorted by place. Text form:
//   path:line:column: error: text [E301]
//      12 |   T.copy(A, B)
//         |          ^^^^
void diag_flush(Diags *d, FILE *to);
// The text of the error that was reported first, and its place; NULL without one.
const char *diag_first(const Diags *d, Span *at);
int diag_first_id(const Diags *d); // its id, or -1
// For tests: the i-th diagnostic's id, or -1 past the end.
int diag_id(const Diags *d, int i);
const char *diag_text(const Diags *d, int i); // its text, or NULL past the end
const char *diag_code(DiagId id); // "E301"

/* clock.c */

double clock_seconds(void); // of a monotonic clock, since some moment
int processor_count(void);  // that this process may run on

/* die.c: our bugs, and the world's failures */

extern const char *tlc_version; // "0.1.0"
// A bug in tlc: names file and line, asks for a report, exits with 70.
#define die(...) die_at(__FILE__, __LINE__, __VA_ARGS__)
NORETURN void die_at(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
// The world failed: prints "tlc: text", with strerror after a text that ends in ':', exits with 3.
NORETURN void fatal(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
