// runtime/npy: files as NumPy writes them, byte by byte; round trips; refusals; damaged headers.
// SPDX-License-Identifier: MIT
#include "runtime/runtime.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tlc-npy-XXXXXX";
static char path[64];
static Arena *arena;
static Buf err;

static void setup(void) {
  arena = arena_new();
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  ck_assert(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a.npy", folder);
}

static void teardown(void) {
  unlink(path);
  rmdir(folder);
  buf_free(&err);
  arena_free(arena);
}

// A version 1.0 file of this dict text and data.
static void put_file(const char *dict, const void *data, size_t n) {
  Buf b = {0};
  buf_add(&b, "\x93NUMPY\x01\x00", 8);
  buf_putc(&b, (char)(strlen(dict) & 255));
  buf_putc(&b, (char)(strlen(dict) >> 8));
  buf_puts(&b, dict);
  buf_add(&b, data, n);
  ck_assert_int_eq(file_write(path, b.data, b.len), 0);
  buf_free(&b);
}

static void expect_refusal(const char *dict, size_t n, const char *words) {
  static const char data[64];
  RtArray a;
  put_file(dict, data, n);
  err.len = 0;
  ck_assert_int_eq(rt_npy_read(arena, path, &a, &err), RT_FAILED);
  ck_assert_msg(strstr(buf_str(&err), words), "'%s' lacks '%s'", buf_str(&err), words);
}

// What np.save writes for np.arange(6, dtype='<f4').reshape(2, 3), as its documentation lays it
// out: 128 bytes of header, of which 118 are the dict, spaces and a newline.
START_TEST(exact_bytes) {
  float v[] = {0, 1, 2, 3, 4, 5};
  RtArray a = {RT_F32, 2, {2, 3}, v};
  ck_assert_int_eq(rt_npy_write(path, &a, &err), RT_OK);
  size_t n;
  const char *bytes = file_read(arena, path, &n);
  const char *dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  ck_assert_uint_eq(n, 128 + 24);
  ck_assert_mem_eq(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
  ck_assert_mem_eq(bytes + 10, dict, strlen(dict));
  for (size_t i = 10 + strlen(dict); i < 127; i++) ck_assert_int_eq(bytes[i], ' ');
  ck_assert_int_eq(bytes[127], '\n');
  ck_assert_mem_eq(bytes + 128, v, 24);
}
END_TEST

START_TEST(round_trip) {
  RtType type = (RtType)_i;
  uint8_t data[96];
  for (int i = 0; i < 96; i++) data[i] = (uint8_t)(i * 37 + 11);
  RtArray a = {type, 3, {2, 3, 2}, data};
  ck_assert_int_eq(rt_npy_write(path, &a, &err), RT_OK);
  uint8_t back[96] = {0};
  RtArray b = a;
  b.data = back;
  ck_assert_int_eq(rt_npy_load(path, "A", &b, &err), RT_OK);
  ck_assert_mem_eq(back, data, rt_type_bytes(type, 12));
}
END_TEST

static const struct {
  const char *descr;
  RtType type;
} descrs[] = {
    {"|b1", RT_BOOL}, {"|i1", RT_I8},  {"|u1", RT_U8},  {"<i2", RT_I16}, {"<u2", RT_U16},
    {"<i4", RT_I32},  {"<u4", RT_U32}, {"<i8", RT_I64}, {"<u8", RT_U64}, {"<f2", RT_F16},
    {"<f4", RT_F32},  {"<f8", RT_F64}, {"|V2", RT_U16}, {"|V1", RT_U8},  {"=f4", RT_F32},
};

START_TEST(every_descr) {
  char dict[128], data[24] = "abcdefghijklmnopqrstuvw";
  snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }\n",
           descrs[_i].descr);
  RtArray a;
  put_file(dict, data, 3 * (size_t)(descrs[_i].descr[2] - '0'));
  ck_assert_msg(rt_npy_read(arena, path, &a, &err) == RT_OK, "%s", buf_str(&err));
  ck_assert_int_eq(a.type, descrs[_i].type);
  ck_assert(a.rank == 1 && a.shape[0] == 3);
  ck_assert_mem_eq(a.data, data, rt_type_bytes(a.type, 3));
}
END_TEST

START_TEST(shapes) {
  RtArray a;
  put_file("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "x", 1);
  ck_assert_int_eq(rt_npy_read(arena, path, &a, &err), RT_OK);
  ck_assert(a.rank == 0 && rt_count(&a) == 1 && *(char *)a.data == 'x');
  put_file("{\"shape\": (2L, 0,9223372036854775807), 'fortran_order':True,'descr': '<f8'}", "", 0);
  ck_assert_msg(rt_npy_read(arena, path, &a, &err) == RT_OK, "%s", buf_str(&err));
  ck_assert(a.rank == 3 && rt_count(&a) == 0);
}
END_TEST

// Version 2.0: a header length of four bytes.
START_TEST(version_2) {
  static const char file[] =
      "\x93NUMPY\x02\x00\x36\x00\x00\x00{'descr': '<i2','fortran_order': False,'shape': (1,)}\nAB";
  RtArray a;
  ck_assert_int_eq(file_write(path, file, sizeof file - 1), 0);
  ck_assert_msg(rt_npy_read(arena, path, &a, &err) == RT_OK, "%s", buf_str(&err));
  ck_assert_int_eq(*(int16_t *)a.data, 'A' | 'B' << 8);
}
END_TEST

// Element [i, j, k] of a 2x3x2 array in Fortran order stands at i + 2 j + 6 k.
START_TEST(fortran_order) {
  uint8_t data[12];
  for (int i = 0; i < 12; i++) data[i] = (uint8_t)i;
  RtArray a;
  put_file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }\n", data, 12);
  ck_assert_int_eq(rt_npy_read(arena, path, &a, &err), RT_OK);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 2; k++)
        ck_assert_int_eq(((uint8_t *)a.data)[(i * 3 + j) * 2 + k], i + 2 * j + 6 * k);
}
END_TEST

START_TEST(refusals) {
  expect_refusal("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4, "big endian");
  expect_refusal("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, "'<c8'");
  expect_refusal("{'descr': '<f9', 'fortran_order': False, 'shape': (1,), }", 8, "'<f9'");
  expect_refusal("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4,
                 "structured");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 4,
                 "needs 8 bytes of data, the file has 4");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 12, "has 12");
  expect_refusal("{'descr': '<f4', 'shape': (2,), }", 8, "lacks 'fortran_order'");
  expect_refusal("{'descr': '<f4', 'descr': '<f4'}", 8, "repeated key 'descr'");
  expect_refusal("{'color': '<f4'}", 8, "unknown key 'color'");
  expect_refusal("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", 8, "True or False");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8, "an extent");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8,
                 "63 bits");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296), }", 8,
                 "more bytes than");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (2, ", 8, "an extent");
}
END_TEST

START_TEST(not_npy) {
  RtArray a;
  ck_assert_int_eq(file_write(path, "PK\x03\x04, an .npz", 14), 0);
  ck_assert_int_eq(rt_npy_read(arena, path, &a, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "not a .npy file") && strstr(buf_str(&err), path));
  err.len = 0;
  ck_assert_int_eq(rt_npy_read(arena, "/nowhere/a.npy", &a, &err), RT_FAILED);
  ck_assert_str_eq(buf_str(&err), "/nowhere/a.npy: cannot open: No such file or directory");
  err.len = 0;
  ck_assert_int_eq(rt_npy_read(arena, folder, &a, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "not a regular file"));
}
END_TEST

START_TEST(disagreement) {
  float v[6] = {0};
  RtArray file = {RT_F32, 2, {2, 3}, v}, want = {RT_F16, 2, {2, 3}, v};
  ck_assert_int_eq(rt_npy_write(path, &file, &err), RT_OK);
  ck_assert_int_eq(rt_npy_load(path, "A", &want, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "element type float32, but A is float16"));
  err.len = 0;
  want.type = RT_BF16;
  ck_assert_int_eq(rt_npy_load(path, "A", &want, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "A is bfloat16, which a .npy file holds as uint16"));
  err.len = 0;
  want = (RtArray){RT_F32, 1, {6}, v};
  ck_assert_int_eq(rt_npy_load(path, "A", &want, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "shape (2, 3), but A has (6,)"));
  err.len = 0;
  want = (RtArray){RT_I4, 1, {5}, v};
  ck_assert_int_eq(rt_npy_load(path, "A", &want, &err), RT_FAILED);
  ck_assert(strstr(buf_str(&err), "must be even"));
}
END_TEST

// Every cut and many random changes of a good file: an answer, never a fault (run under ASan).
START_TEST(damaged_headers) {
  const char good[] = "\x93NUMPY\x01\x00\x3c\x00"
                      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  size_t n = sizeof good - 1, at;
  RtArray a;
  bool fortran;
  ck_assert(rt_npy_header(good, n, &a, &fortran, &at, &err) && at == n);
  for (size_t cut = 0; cut < n; cut++) {
    char *part = malloc(cut + 1); // exactly as long as it says, so that ASan sees a read past it
    memcpy(part, good, cut);
    ck_assert(!rt_npy_header(part, cut, &a, &fortran, &at, &err));
    free(part);
  }
  uint64_t s = 1;
  for (int i = 0; i < 200000; i++) {
    char bad[sizeof good];
    memcpy(bad, good, n);
    for (int change = 0; change <= i % 4; change++) {
      s = s * UINT64_C(6364136223846793005) + 1442695040888963407u;
      static const char likely[] = "{}()'\",:0123456789<>|fiubVL \n\xff";
      bad[6 + (s >> 33) % (n - 6)] = likely[(s >> 50) % sizeof likely];
    }
    err.len = 0;
    if (rt_npy_header(bad, n, &a, &fortran, &at, &err)) ck_assert(at <= n && a.rank <= RT_MAX_RANK);
    else ck_assert_uint_gt(err.len, 0);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("npy");
  TCase *tc = tcase_create("files");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, exact_bytes);
  tcase_add_loop_test(tc, round_trip, 0, RT_TYPE_COUNT);
  tcase_add_loop_test(tc, every_descr, 0, LEN(descrs));
  tcase_add_test(tc, shapes);
  tcase_add_test(tc, version_2);
  tcase_add_test(tc, fortran_order);
  tcase_add_test(tc, refusals);
  tcase_add_test(tc, not_npy);
  tcase_add_test(tc, disagreement);
  tcase_add_test(tc, damaged_headers);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
