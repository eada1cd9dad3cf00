// tuner/db: keys, several processes at once, kills, damage, limits, folders that cannot be written.
// SPDX-License-Identifier: MIT
#include "tuner/db.h"
#include "tuner/internal.h"
#include "suite.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tlc-db-XXXXXX";
static char path[64];
static FILE *said;
static char *said_text;
static size_t said_len;

static void setup(void) {
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  ck_assert(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/tune.db", folder);
  said = open_memstream(&said_text, &said_len);
}

static void teardown(void) {
  char line[128];
  fclose(said);
  free(said_text);
  snprintf(line, sizeof line, "chmod -R u+w %s; rm -rf %s", folder, folder);
  ck_assert_int_eq(system(line), 0);
}

static int64_t time_now = 1000000;
static int64_t fake_clock(void) { return time_now; }

static TnDb *open_db(void) {
  return tn_db_open(&(TnDbOptions){.path = path, .say = said, .now = fake_clock});
}

static TnHash key_of(int i) {
  TnKey k;
  tn_key_begin(&k);
  tn_key_add(&k, "i", &i, sizeof i);
  return tn_key_end(&k);
}

static bool has(TnDb *d, int i, const char *want) {
  TnHash k = key_of(i);
  Buf b = {0};
  bool found = tn_db_get(d, &k, &b);
  if (found && want) ck_assert_str_eq(buf_str(&b), want);
  buf_free(&b);
  return found;
}

static void put(TnDb *d, int i, const char *value) {
  TnHash k = key_of(i);
  tn_db_put(d, &k, value, strlen(value));
}

// sha256sum of the bytes that the comment in db.h says: 01 00.. 'a' 02 00.. "xy"
// What the compiler said of a candidate comes back as it was, numbers of any size among it.
START_TEST(records) {
  Arena *a = arena_new();
  TnNumber numbers[] = {{0, false}, {INT64_MAX, true}, {((int64_t)1 << 62) + 1, false}, {-3, true}};
  TnCandidate c = {.state = TN_QUEUED, .symbol = "f", .stages = 3, .numbers = numbers};
  TnCandidate back = {0};
  Buf b = {0};
  c.nnumbers = LEN(numbers);
  tn_record_put(&c, &b);
  ck_assert(tn_record_take(a, b.data, b.len, &back));
  ck_assert_int_eq(back.nnumbers, c.nnumbers);
  for (int i = 0; i < c.nnumbers; i++) {
    ck_assert_int_eq(back.numbers[i].value, numbers[i].value);
    ck_assert_int_eq(back.numbers[i].exact, numbers[i].exact);
  }
  ck_assert_str_eq(back.symbol, "f");
  ck_assert_int_eq(back.stages, 3);
  ck_assert(!tn_record_take(a, b.data, b.len - 1, &back));
  buf_free(&b);
  arena_free(a);
}
END_TEST

START_TEST(keys) {
  TnKey k;
  char text[65];
  tn_key_begin(&k);
  tn_key_add(&k, "a", "xy", 2);
  TnHash h = tn_key_end(&k);
  tn_hash_text(&h, text);
  ck_assert_str_eq(text, "7c087e571f616446b9ac2bc63eb9ad0b1bcd415bc6986698a130bd971024467b");
  static const char *const lists[][4] = {
      {"a", "b", "c", "d"}, {"ab", "", "c", "d"}, {"a", "bc", "", "d"}, {"a", "b", "cd", ""}};
  TnHash all[4];
  for (int i = 0; i < 4; i++) {
    tn_key_begin(&k);
    for (int j = 0; j < 4; j += 2) tn_key_text(&k, lists[i][j], lists[i][j + 1]);
    all[i] = tn_key_end(&k);
    for (int j = 0; j < i; j++) ck_assert(memcmp(&all[i], &all[j], sizeof h));
  }
}
END_TEST

START_TEST(round_trip) {
  TnDb *d = open_db();
  ck_assert(tn_db_works(d));
  put(d, 1, "one");
  put(d, 2, "two");
  put(d, 2, "zwei");
  ck_assert(has(d, 1, "one") && has(d, 2, "zwei") && !has(d, 3, NULL));
  tn_db_close(d);
  d = open_db();
  ck_assert(has(d, 1, "one"));
  ck_assert_int_eq(tn_db_count(d), 2);
  tn_db_close(d);
  ck_assert_int_eq(tn_db_clear(&(TnDbOptions){.path = path}), 0);
  ck_assert_int_ne(access(path, F_OK), 0);
  fflush(said);
  ck_assert_int_eq(said_len, 0);
}
END_TEST

START_TEST(damaged) { // a file that is none, and one whose pages are garbled
  for (int kind = 0; kind < 3; kind++) {
    if (kind == 0) {
      ck_assert_int_eq(file_write(path, "this is no database, whatever its name", 38), 0);
    } else {
      TnDb *d = open_db();
      for (int i = 0; i < 2000; i++) put(d, i, "some value that takes room");
      tn_db_close(d);
      int fd = open(path, O_WRONLY);
      char junk[4096];
      memset(junk, 0x5a, sizeof junk);
      for (int at = kind == 1 ? 100 : 8192; at < 60000; at += 8192)
        ck_assert_int_eq(pwrite(fd, junk, sizeof junk, at), sizeof junk);
      close(fd);
    }
    TnDb *d = open_db();
    ck_assert(tn_db_works(d));
    ck_assert(!has(d, 1, NULL));
    put(d, 1, "new");
    ck_assert(has(d, 1, "new"));
    tn_db_close(d);
    fflush(said);
    ck_assert_msg(strstr(said_text, "damaged-1000000"), "%s", said_text);
    teardown();
    setup();
  }
}
END_TEST

START_TEST(no_folder) {
  TnDb *d = tn_db_open(&(TnDbOptions){.path = "/proc/no/tune.db", .say = said});
  ck_assert(!tn_db_works(d));
  put(d, 1, "x");
  ck_assert(!has(d, 1, NULL));
  tn_db_close(d);
  fflush(said);
  ck_assert(strstr(said_text, "goes on without"));
  ck_assert_msg(!strstr(strstr(said_text, "goes on") + 1, "goes on"), "said once");
}
END_TEST

START_TEST(limit) { // the least recently used go
  TnDb *d =
      tn_db_open(&(TnDbOptions){.path = path, .say = said, .now = fake_clock, .limit = 200000});
  char value[1001];
  memset(value, 'v', 1000);
  value[1000] = 0;
  for (int i = 0; i < 600; i++) {
    time_now += 1000;
    put(d, i, value);
    ck_assert(has(d, 0, NULL)); // always in use
  }
  ck_assert(has(d, 599, NULL) && !has(d, 100, NULL));
  ck_assert_int_lt(tn_db_count(d), 200);
  ck_assert_int_gt(tn_db_count(d), 100);
  tn_db_close(d);
  struct stat st;
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_int_lt(st.st_size, 300000);
}
END_TEST

START_TEST(many_writers) {
  pid_t child[4];
  for (int c = 0; c < 4; c++) {
    child[c] = fork();
    if (child[c]) continue;
    TnDb *d = open_db();
    for (int i = 0; i < 200; i++) put(d, c * 1000 + i, "v");
    _exit(tn_db_works(d) ? 0 : 1);
  }
  for (int c = 0; c < 4; c++) {
    int status;
    waitpid(child[c], &status, 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  TnDb *d = open_db();
  ck_assert_int_eq(tn_db_count(d), 800);
  tn_db_close(d);
}
END_TEST

// A writer says each number after it has stored it, and is killed at some moment: what it said is
// there, and the database is whole.
START_TEST(kills) {
  int base = 0;
  for (int round = 0; round < 100; round++) {
    int ends[2], last = base - 1, i;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
      TnDb *d = open_db();
      for (i = base;; i++) {
        put(d, i, "value");
        ck_assert_int_eq(write(ends[1], &i, sizeof i), sizeof i);
      }
    }
    close(ends[1]);
    usleep((useconds_t)(round * 7919 % 20000));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (read(ends[0], &i, sizeof i) == sizeof i) last = i;
    close(ends[0]);
    TnDb *d = open_db();
    for (i = base; i <= last; i++) ck_assert(has(d, i, "value"));
    tn_db_close(d);
    base = last + 2;
  }
  fflush(said);
  ck_assert_int_eq(said_len, 0);
}
END_TEST

int main(void) {
  Suite *s = suite_create("tune_db");
  TCase *t = tcase_create("tune_db");
  tcase_set_timeout(t, 120);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, records);
  tcase_add_test(t, keys);
  tcase_add_test(t, round_trip);
  tcase_add_test(t, damaged);
  tcase_add_test(t, no_folder);
  tcase_add_test(t, limit);
  tcase_add_test(t, many_writers);
  tcase_add_test(t, kills);
  suite_add_tcase(s, t);
  return suite_run(s);
}
