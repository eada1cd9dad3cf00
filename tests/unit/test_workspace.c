// Workspaces: their text form and rules, where parts lie, what launchers refuse, order of kernels.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "ir/target.h"
#include "text_host.h"
#include "suite.h"

static Arena *arena;

static Program *read_text(const char *text) {
  Sources *s = src_new(arena);
  Diags *diags = diag_new(arena, s, (DiagOptions){0});
  Program *p = ir_read(arena, diags, src_add(s, "t.tir", text, strlen(text)));
  if (!p) diag_flush(diags, stderr);
  ck_assert_msg(p != NULL, "does not read: %s", text);
  return p;
}

// The second kernel reads what the first left in `odd` and `w`; `spare` only takes room.
#define TWO                                                                                        \
  "program two\nsize n\nparam A : tensor float32 [n] role in\nparam C : tensor float32 [n] role "  \
  "out\nworkspace odd : int8 [3, n]\nworkspace spare : float16 [100]\nworkspace w : float32 [n]\n" \
  "kernel two_k0 {\n  level tile\n  grid [n, 1, 1]\n  threads 32\n  block [b, _, _]\n  thread t\n" \
  "  body {\n    w[b] = A[b] + 1.0\n    odd[2, b] = int8(7)\n  }\n}\n"                             \
  "kernel two_k1 {\n  level tile\n  grid [n, 1, 1]\n  threads 32\n  block [b, _, _]\n  thread t\n" \
  "  body {\n    C[b] = w[n - 1 - b] * float32(odd[2, b])\n  }\n}\n"

#define FLAT                                                                                       \
  "program two\nsize n\nparam A : tensor float32 [n] role in\nparam C : tensor float32 [n] role "  \
  "out\nworkspace odd : int8 [3 * n]\nworkspace spare : float16 [100]\nworkspace w : float32 [n]"  \
  "\nkernel two_k0 {\n  level thread\n  grid [n, 1, 1]\n  threads 32\n  block [b, _, _]\n  thread" \
  " t\n  body {\n    if t == 0 {\n      w[b] = A[b] + 1.0\n      odd[2 * n + b] = int8(7)\n    }" \
  "\n  }\n}\nkernel two_k1 {\n  level thread\n  grid [n, 1, 1]\n  threads 32\n  block [b, _, _]\n" \
  "  thread t\n  body {\n    if t == 0 {\n      C[b] = w[n - 1 - b] * float32(odd[2 * n + b])\n"   \
  "    }\n  }\n}\n"

START_TEST(text_form) {
  Program *p = read_text(TWO), *copy = ir_clone(arena, p);
  Buf one = {0}, two = {0}, three = {0}, why = {0};
  ck_assert_int_eq(p->workspaces.len, 3);
  ck_assert_int_eq(p->workspaces.data[0]->ndim, 2);
  ck_assert(p->workspaces.data[2]->scope == SC_GLOBAL);
  ck_assert_msg(ir_verify(p, &why), "%s", buf_str(&why));
  ir_print(p, &one);
  ir_print(copy, &two);
  ck_assert_str_eq(buf_str(&one), buf_str(&two));
  ck_assert(copy->workspaces.data[0] != p->workspaces.data[0]);
  ir_print(read_text(buf_str(&one)), &three);
  ck_assert_str_eq(buf_str(&one), buf_str(&three));
  ck_assert(strstr(buf_str(&one), "\nworkspace odd : int8 [3, n]\n"));
  buf_free(&one);
  buf_free(&two);
  buf_free(&three);
  buf_free(&why);
}
END_TEST

static void refused(const char *workspace, const char *complaint) {
  const char *text = arena_printf(
      arena, "program p\nsize n\nparam s : int32\nparam A : tensor float32 [n] role in\n%s\n"
             "kernel p_k0 {\n  level tile\n  body {\n  }\n}\n",
      workspace);
  Buf why = {0};
  ck_assert_msg(!ir_verify(read_text(text), &why) && strstr(buf_str(&why), complaint),
                "no '%s': %s", complaint, buf_str(&why));
  buf_free(&why);
}

START_TEST(rules) {
  refused("workspace w : float32 [s]", "uses more than sizes");
  refused("workspace w : float32 [int32(A[0])]", "uses more than sizes");
  refused("workspace w : int4 [n]", "is of int4");
  refused("workspace w : float32 [n, 4] strides [8, 1]", "has strides");
  refused("workspace w : float32 [n] align 512", "at most 256");
  refused("workspace w : float32 [n] align 12", "no power of two");
  refused("workspace w : float32 [n, 4]\nkernel p_k1 {\n  level thread\n  body {\n  }\n}",
          "2 dimensions");
}
END_TEST

static void says(TextKernel k, void *const *args, const char *part) {
  char msg[200] = "";
  ck_assert_int_eq(k.check(args, msg, sizeof msg), 1);
  ck_assert_int_eq(k.call(args), 1); // cudaErrorInvalidValue
  ck_assert_msg(strstr(msg, part), "\"%s\" lacks \"%s\"", msg, part);
}

START_TEST(launcher) {
  CgOptions o = {.target = target_find("sm_80"), .source = read_text(TWO)};
  TextKernel k;
  ck_assert(text_load(read_text(FLAT), &o, &k));
  int64_t n = 100;
  // 300 bytes, 200 and 400, each rounded up to 256.
  ck_assert_uint_eq(k.workspace((void *[]){NULL, NULL, &n}), 512 + 256 + 512);
  ck_assert_uint_eq(k.workspace((void *[]){NULL, NULL, &(int64_t){0}}), 256);
  ck_assert_uint_eq(k.workspace((void *[]){NULL, NULL, &(int64_t){-1}}), 0);
  ck_assert_uint_eq(k.workspace((void *[]){NULL, NULL, &(int64_t){INT64_C(1) << 31}}), 0);
  char *memory = aligned_alloc(256, 8192), *w = memory + 4096;
  float *a = (float *)memory, *c = a + 256;
  memset(memory, 0xff, 8192);
  for (int i = 0; i < 100; i++) a[i] = (float)i;
  ck_assert_int_eq(k.call((void *[]){a, c, &n, w}), 0);
  for (int i = 0; i < 100; i++) ck_assert_float_eq(c[i], (float)(7 * (99 - i + 1)));
  ck_assert_int_eq(w[200], 7); // odd[2, 0]
  ck_assert_float_eq(((float *)(w + 768))[99], 100);
  ck_assert_int_eq((unsigned char)w[768 + 400], 0xff); // nothing past the end
  says(k, (void *[]){a, c, &n, NULL}, "workspace is a null pointer");
  says(k, (void *[]){a, c, &n, w + 128}, "workspace must be aligned to 256 bytes");
  says(k, (void *[]){a, w + 1264, &n, w}, "C and workspace must not overlap");
  says(k, (void *[]){w - 384, c, &n, w}, "A and workspace must not overlap");
  ck_assert_int_eq(k.call((void *[]){w - 400, c, &n, w}), 0); // side by side
  free(memory);
}
END_TEST

START_TEST(constant_sizes) {
  static const char text[] = "program p\nworkspace a : int8 [300]\nworkspace b : float32 [1]\n"
                             "kernel p_k0 {\n  level thread\n  threads 1\n  body {\n"
                             "    a[299] = int8(1)\n    b[0] = 2.0\n  }\n}\n";
  CgOptions o = {.target = target_find("sm_80")};
  TextKernel k;
  ck_assert(text_load(read_text(text), &o, &k));
  ck_assert_uint_eq(k.workspace((void *[]){NULL}), 512 + 256);
  char *w = aligned_alloc(256, 1024);
  ck_assert_int_eq(k.call((void *[]){w}), 0);
  ck_assert_int_eq(w[299], 1);
  ck_assert_float_eq(*(float *)(w + 512), 2);
  says(k, (void *[]){NULL}, "workspace is a null pointer");
  says(k, (void *[]){w + 4}, "workspace must be aligned");
  free(w);
}
END_TEST

START_TEST(more_than_64_bits) {
  static const char text[] = "program p\nsize n\nworkspace a : float32 [n * n * n]\n"
                             "workspace b : int8 [n]\nkernel p_k0 {\n  level thread\n  grid [n, "
                             "1, 1]\n  body {\n    a[0] = 0.0\n    b[0] = int8(0)\n  }\n}\n";
  static const char tile[] = "program p\nsize n\nworkspace a : float32 [n, n, n]\n"
                             "workspace b : int8 [n]\nkernel p_k0 {\n  body {\n  }\n}\n";
  CgOptions o = {.target = target_find("sm_80"), .source = read_text(tile)};
  TextKernel k;
  ck_assert(text_load(read_text(text), &o, &k));
  int64_t n = INT32_MAX;
  ck_assert_uint_eq(k.workspace((void *[]){&n}), 0);
  says(k, (void *[]){&n, (void *)256}, "more bytes than 64 bits count");
}
END_TEST

static bool emulated(const char *text, float *a, float *c, int64_t n, Buf *said) {
  Sources *s = src_new(arena);
  Diags *diags = diag_new(arena, s, (DiagOptions){0});
  Program *p = ir_read(arena, diags, src_add(s, "t.tir", text, strlen(text)));
  EmuArg args[] = {{.data = a, .bytes = 4 * (size_t)n}, {.data = c, .bytes = 4 * (size_t)n}};
  EmuCall call = {.sizes = &n, .args = args};
  bool tile = p->kernels.data[0]->level == LEVEL_TILE;
  bool ok = tile ? oracle_run(p, &call, diags)
                 : emu_run(p, &call, target_find("sm_80"), NULL, NULL, diags);
  char *out = NULL;
  size_t len = 0;
  FILE *f = open_memstream(&out, &len);
  diag_flush(diags, f);
  fclose(f);
  buf_puts(said, out);
  free(out);
  return ok;
}

START_TEST(emulators) {
  float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, c[8];
  static const char *const texts[] = {TWO, FLAT};
  for (int i = 0; i < 2; i++) {
    Buf said = {0};
    memset(c, 0, sizeof c);
    ck_assert_msg(emulated(texts[i], a, c, 8, &said), "%s", buf_str(&said));
    for (int k = 0; k < 8; k++) ck_assert_float_eq(c[k], 7 * (a[7 - k] + 1));
    ck_assert(emulated(texts[i], a, c, 0, &said)); // empty grids, empty parts
    buf_free(&said);
  }
  // The kernels in the other order: the first reads what nothing has written.
  const char *k0 = strstr(texts[1], "kernel two_k0"), *k1 = strstr(texts[1], "kernel two_k1");
  const char *swapped = arena_printf(arena, "%.*s%s%.*s", (int)(k0 - texts[1]), texts[1], k1,
                                     (int)(k1 - k0), k0);
  Buf said = {0};
  ck_assert(!emulated(swapped, a, c, 8, &said));
  ck_assert_msg(strstr(buf_str(&said), "which nothing has written"), "%s", buf_str(&said));
  buf_free(&said);
}
END_TEST

static void start(void) { arena = arena_new(); }
static void stop(void) { arena_free(arena); }

int main(void) {
  Suite *s = suite_create("workspace");
  TCase *tc = tcase_create("workspace");
  tcase_add_checked_fixture(tc, start, stop);
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, text_form);
  tcase_add_test(tc, rules);
  tcase_add_test(tc, launcher);
  tcase_add_test(tc, constant_sizes);
  tcase_add_test(tc, more_than_64_bits);
  tcase_add_test(tc, emulators);
  suite_add_tcase(s, tc);
  return suite_run(s);
}
