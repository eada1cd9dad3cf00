// Element types: properties, lookup by name, and promotion.
// SPDX-License-Identifier: MIT
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *cuda, *abi;
  int bits;
  char kind; // U, S, F, B or X
} table[] = {
#define DTYPE(e, name, bits, kind, cuda, abi) {name, cuda, abi, bits, #kind[0]},
#include "ir/dtypes.def"
#undef DTYPE
};

static const struct {
  const char *alias;
  DType type;
} aliases[] = {
    {"float", DT_F32},          {"half", DT_F16},         {"double", DT_F64},
    {"short", DT_I16},          {"int", DT_I32},          {"long", DT_I64},
    {"uint", DT_U32},           {"e4m3", DT_E4M3},        {"float8_e4m3", DT_E4M3},
    {"e5m2", DT_E5M2},          {"tf32", DT_TF32},        {"bf16", DT_BF16},
    {"e4m3_float8", DT_E4M3},   {"e5m2_float8", DT_E5M2}, {"e4m3fn_float8", DT_E4M3},
    {"float8_e5m2fn", DT_E5M2},
};

int dt_bits(DType t) { return table[t].bits; }

int dt_bytes(DType t) {
  if (table[t].bits % 8) die("dt_bytes of the sub-byte type %s", table[t].name);
  return table[t].bits / 8;
}

const char *dt_name(DType t) { return table[t].name; }
const char *dt_cuda(DType t) { return table[t].cuda; }
const char *dt_abi(DType t) { return table[t].abi; }
bool dt_is_float(DType t) { return table[t].kind == 'F'; }

bool dt_is_int(DType t) {
  char k = table[t].kind;
  return k == 'S' || k == 'U' || k == 'X';
}

bool dt_is_signed(DType t) { return table[t].kind != 'U' && table[t].kind != 'B'; }

bool dt_find(const char *name, DType *out) {
  for (size_t i = 0; i < LEN(table); i++) {
    if (!strcmp(table[i].name, name)) return *out = (DType)i, true;
  }
  for (size_t i = 0; i < LEN(aliases); i++) {
    if (!strcmp(aliases[i].alias, name)) return *out = aliases[i].type, true;
  }
  return false;
}

bool dt_foreign(const char *name) {
  static const char *const formats[] = {"float8_e4m3fnuz",
                                        "float8_e5m2fnuz",
                                        "float8_e8m0fnu",
                                        "float8_e4m3b11fnuz",
                                        "float8_e3m4",
                                        "float6_e2m3fn",
                                        "float6_e3m2fn",
                                        "float4_e2m1_unpacked",
                                        "float4_e2m1fn_x2",
                                        "float4_e2m1fnx2",
                                        "float4_e2m1_unpackedx2",
                                        "float2",
                                        "float4"};
  for (size_t i = 0; i < LEN(formats); i++)
    if (!strcmp(formats[i], name)) return true;
  DType t;
  int n;
  return dt_vector(name, &t, &n);
}

bool dt_vector(const char *name, DType *of, int *lanes) {
  const char *x = strrchr(name, 'x');
  char base[32];
  if (!x || x == name || !x[1] || strspn(x + 1, "0123456789") != strlen(x + 1)) return false;
  snprintf(base, sizeof base, "%.*s", (int)(x - name), name);
  *lanes = atoi(x + 1);
  return dt_find(base, of);
}

static DType promote_floats(DType a, DType b) {
  if (dt_bits(a) != dt_bits(b)) return dt_bits(a) > dt_bits(b) ? a : b;
  return DT_F32; // two formats of one width: neither holds the other
}

static DType signed_of(int bits) {
  return bits <= 4 ? DT_I4 : bits <= 8 ? DT_I8 : bits <= 16 ? DT_I16 : bits <= 32 ? DT_I32 : DT_I64;
}

DType dt_promote(DType a, DType b) {
  if (a == b) return a;
  if (dt_is_float(a) && dt_is_float(b)) return promote_floats(a, b);
  if (dt_is_float(a)) return a;
  if (dt_is_float(b)) return b;
  if (a == DT_BOOL) return b;
  if (b == DT_BOOL) return a;
  if (a == DT_INDEX) a = DT_I32;
  if (b == DT_INDEX) b = DT_I32;
  if (a == b) return a;
  int bits = dt_bits(a) > dt_bits(b) ? dt_bits(a) : dt_bits(b);
  if (dt_is_signed(a) == dt_is_signed(b)) return dt_bits(a) == bits ? a : b;
  return signed_of(bits); // mixed signs meet in the signed type of the wider width
}
