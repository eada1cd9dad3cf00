// String-keyed hash tables (open addressing) and hashing.
// SPDX-License-Identifier: MIT
#include "base.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
  const char *key;
  void *value;
  uint64_t hash;
} Entry;

struct Map {
  Arena *arena;
  VEC(Entry) entries;
  int *slots; // entry index + 1, or 0
  int nslots;
};

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (const unsigned char *p = data; n--; p++) h = (h ^ *p) * 0x100000001b3u;
  return h;
}

Map *map_new(Arena *a) {
  Map *m = NEW(a, Map);
  m->arena = a;
  return m;
}

static int *find_slot(const Map *m, const char *key, uint64_t hash) {
  for (int i = (int)(hash & (uint64_t)(m->nslots - 1));; i = (i + 1) & (m->nslots - 1)) {
    int *slot = &m->slots[i];
    if (!*slot) return slot;
    const Entry *e = &m->entries.data[*slot - 1];
    if (e->hash == hash && !strcmp(e->key, key)) return slot;
  }
}

static void rehash(Map *m) {
  m->nslots = m->nslots ? m->nslots * 2 : 16;
  m->slots = NEWN(m->arena, int, m->nslots);
  for (int i = 0; i < m->entries.len; i++)
    *find_slot(m, m->entries.data[i].key, m->entries.data[i].hash) = i + 1;
}

void map_set(Map *m, const char *key, void *value) {
  if (m->entries.len * 2 >= m->nslots) rehash(m);
  uint64_t hash = hash_bytes(key, strlen(key), 0);
  int *slot = find_slot(m, key, hash);
  if (*slot) {
    m->entries.data[*slot - 1].value = value;
    return;
  }
  vec_push(m->arena, &m->entries, (Entry){arena_str(m->arena, key), value, hash});
  *slot = m->entries.len;
}

static const Entry *find(const Map *m, const char *key) {
  if (!m->nslots) return NULL;
  int slot = *find_slot(m, key, hash_bytes(key, strlen(key), 0));
  return slot ? &m->entries.data[slot - 1] : NULL;
}

void *map_get(const Map *m, const char *key) {
  const Entry *e = find(m, key);
  return e ? e->value : NULL;
}

bool map_has(const Map *m, const char *key) { return find(m, key) != NULL; }
int map_len(const Map *m) { return m->entries.len; }
const char *map_key(const Map *m, int i) { return m->entries.data[i].key; }
void *map_value(const Map *m, int i) { return m->entries.data[i].value; }

static int min3(int a, int b, int c) {
  int m = a < b ? a : b;
  return m < c ? m : c;
}

// Levenshtein distance of words of up to 63 characters; a large number past that.
static int edit_distance(const char *a, const char *b) {
  int n = (int)strlen(a), m = (int)strlen(b), row[64];
  if (n > 63 || m > 63) return 1000;
  for (int j = 0; j <= m; j++) row[j] = j;
  for (int i = 1; i <= n; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      int up = row[j];
      row[j] = min3(up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = up;
    }
  }
  return row[m];
}

// Is word the name with letters left out?
static bool left_out(const char *word, const char *name) {
  for (; *name; name++)
    if (*word && *word == *name) word++;
  return !*word;
}

const char *near_name(const char *word, const char *const *names) {
  const char *best = NULL;
  int limit = (int)strlen(word) / 3 + 1, best_distance = limit + 1;
  for (; *names; names++) {
    int d = strcasecmp(word, *names) ? edit_distance(word, *names) : 0;
    if (d >= (int)strlen(word)) continue; // nothing in common
    bool only = left_out(word, *names);   // of equally near ones: sm_90a, not sm_80, for sm_90
    if (d < best_distance || (d == best_distance && best && only)) best_distance = d, best = *names;
  }
  return best;
}
