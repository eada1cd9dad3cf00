// Lookup in the T.* vocabulary.
// SPDX-License-Identifier: MIT
#include "eval/handlers.h"
#include "eval/internal.h"

#include <string.h>

static const Builtin words[] = {
#define VOCAB(name, fn, taste, signature, meaning) {"T", name, fn, taste, signature, meaning},
#define NOT_YET(name, meaning) {"T", name, NULL, NEEDS, "*rest, **", meaning},
#include "eval/vocab.def"
#undef VOCAB
#undef NOT_YET
};

const Builtin *vocab_find(const char *name) {
  for (size_t i = 0; i < LEN(words); i++) {
    if (!strcmp(words[i].name, name)) return &words[i];
  }
  return NULL;
}

const char *vocab_near(Ev *ev, const char *name) {
  static const char *const more[] = {"GemmWarpPolicy", "float16", "bfloat16", "float32", "float64",
                                     "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                     "uint64", "bool", "float8_e4m3fn", "float8_e5m2", "tfloat32"};
  const char **names = NEWN(ev->arena, const char *, LEN(words) + LEN(more) + 1);
  int n = 0;
  for (size_t i = 0; i < LEN(words); i++) {
    if (words[i].fn) names[n++] = words[i].name;
  }
  for (size_t i = 0; i < LEN(more); i++) names[n++] = more[i];
  return near_name(name, names);
}

const EvWord *ev_word(int i) {
  static EvWord word;
  if (i < 0 || i >= (int)LEN(words)) return NULL;
  const Builtin *b = &words[i];
  word = (EvWord){b->name, b->fn ? b->signature : "", b->meaning, b->fn != NULL};
  return &word;
}
