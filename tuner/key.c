// Keys of the cache. The hash is nettle's: a library of nothing but cryptography.
// SPDX-License-Identifier: MIT
#include "tuner/db.h"

#include <string.h>

void tn_key_begin(TnKey *k) { sha256_init(&k->ctx); }

static void add_counted(TnKey *k, const void *data, size_t n) {
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)n >> 8 * i);
  sha256_update(&k->ctx, sizeof length, length);
  sha256_update(&k->ctx, n, data);
}

void tn_key_add(TnKey *k, const char *name, const void *data, size_t n) {
  add_counted(k, name, strlen(name));
  add_counted(k, data, n);
}

void tn_key_text(TnKey *k, const char *name, const char *value) {
  if (value) tn_key_add(k, name, value, strlen(value) + 1);
  else tn_key_add(k, name, "", 0);
}

TnHash tn_key_end(TnKey *k) {
  TnHash h;
  sha256_digest(&k->ctx, sizeof h.bytes, h.bytes);
  return h;
}

void tn_hash_text(const TnHash *h, char out[65]) {
  for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", h->bytes[i]);
}
