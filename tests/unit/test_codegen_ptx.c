// The instruction of each helper that is written in PTX, operands and order included, against the
// spelling of the PTX ISA's chapters: no machine without a GPU runs these, so that a slip in one
// would not show elsewhere.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <ctype.h>

#include "micro.h"
#include "suite.h"

typedef struct {
  const char *function; // beginning of its definition
  const char *asm_text; // without quotes and blanks
} Row;

#define COPY(kind, bytes) \
  "cp.async." kind "[%0],[%1]," bytes ";::r(tlc_smem_addr(smem)),l(global):memory"
#define FILL(kind, bytes) \
  "cp.async." kind "[%0],[%1]," bytes ",%2;::r(tlc_smem_addr(smem)),l(global),r(bytes):memory"
#define CA "ca.shared.global"
#define CG "cg.shared.global.L2::128B"
#define LDM(form, regs, at, out) \
  "ldmatrix.sync.aligned.m8n8." form ".shared.b16{" regs "},[" at "];:" out \
  ":r(tlc_smem_addr(smem)):memory"
#define R1 "%0", "%1", "=r(r0)"
#define R2 "%0,%1", "%2", "=r(r.x),=r(r.y)"
#define R4 "%0,%1,%2,%3", "%4", "=r(r.x),=r(r.y),=r(r.z),=r(r.w)"
#define LDMX(form, regs) LDM_(form, regs)
#define LDM_(form, ...) LDM(form, __VA_ARGS__)
#define MMA(shape, types, c) \
  "mma.sync.aligned." shape ".row.col." types \
  "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" \
  ":+" c "(d[0]),+" c "(d[1]),+" c "(d[2]),+" c "(d[3])" \
  ":r(ra[0]),r(ra[1]),r(ra[2]),r(ra[3]),r(rb[0]),r(rb[1])"
#define TWO(op) op "%0,%1,%2;:=f(d):f(a),f(b)"
#define ONE(op) op "%0,%1;:=f(d):f(a)"
#define TEST(op) \
  "{.reg.predp;setp." op ".f32p,%1,%2;selp.s32%0,1,0,p;}:=r(d):f(a),f(b)"

static const Row rows[] = {
    {"tlc_cp_async_4(", COPY(CA, "4")},
    {"tlc_cp_async_8(", COPY(CA, "8")},
    {"tlc_cp_async_16(", COPY(CG, "16")},
    {"tlc_cp_async_zfill_4(", FILL(CA, "4")},
    {"tlc_cp_async_zfill_8(", FILL(CA, "8")},
    {"tlc_cp_async_zfill_16(", FILL(CG, "16")},
    {"tlc_cp_async_commit(", "cp.async.commit_group;:::memory"},
    {"tlc_cp_async_wait(", "cp.async.wait_group%0;::n(N):memory"},
    {"tlc_ldmatrix_x1(", LDMX("x1", R1)},
    {"tlc_ldmatrix_x2(", LDMX("x2", R2)},
    {"tlc_ldmatrix_x4(", LDMX("x4", R4)},
    {"tlc_ldmatrix_trans_x1(", LDMX("x1.trans", R1)},
    {"tlc_ldmatrix_trans_x2(", LDMX("x2.trans", R2)},
    {"tlc_ldmatrix_trans_x4(", LDMX("x4.trans", R4)},
    {"tlc_mma_m16n8k16(float*d,const__half*a", MMA("m16n8k16", "f32.f16.f16.f32", "f")},
    {"tlc_mma_m16n8k16(float*d,const__nv_bfloat16*a", MMA("m16n8k16", "f32.bf16.bf16.f32", "f")},
    {"tlc_mma_m16n8k16(__half*d",
     "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16{%0,%1},{%2,%3,%4,%5},{%6,%7},{%0,%1};"
     ":+r(rd[0]),+r(rd[1]):r(ra[0]),r(ra[1]),r(ra[2]),r(ra[3]),r(rb[0]),r(rb[1])"},
    {"tlc_mma_m16n8k8(float*d", MMA("m16n8k8", "f32.tf32.tf32.f32", "f")},
    {"tlc_mma_m16n8k32(int32_t*d,constint8_t*a,constint8_t*b",
     MMA("m16n8k32", "s32.s8.s8.s32", "r")},
    {"tlc_mma_m16n8k32(int32_t*d,constint8_t*a,constuint8_t*b",
     MMA("m16n8k32", "s32.s8.u8.s32", "r")},
    {"tlc_mma_m16n8k32(int32_t*d,constuint8_t*a,constint8_t*b",
     MMA("m16n8k32", "s32.u8.s8.s32", "r")},
    {"tlc_mma_m16n8k32(int32_t*d,constuint8_t*a,constuint8_t*b",
     MMA("m16n8k32", "s32.u8.u8.s32", "r")},
    {"tlc_add(floata,floatb)", TWO("add.rn.f32")},
    {"tlc_sub(floata,floatb)", TWO("sub.rn.f32")},
    {"tlc_mul(floata,floatb)", TWO("mul.rn.f32")},
    {"tlc_div(floata,floatb)", TWO("div.rn.f32")},
    {"tlc_min(floata,floatb)", TWO("min.f32")},
    {"tlc_max(floata,floatb)", TWO("max.f32")},
    {"tlc_lt(floata,floatb)", TEST("lt")},
    {"tlc_le(floata,floatb)", TEST("le")},
    {"tlc_eq(floata,floatb)", TEST("eq")},
    {"tlc_ne(floata,floatb)", TEST("neu")}, // true where one of them is NaN
    {"tlc_fma(floata,floatb,floatc)", "fma.rn.f32%0,%1,%2,%3;:=f(d):f(a),f(b),f(c)"},
    {"tlc_exp2(floata)", ONE("ex2.approx.f32")},
    {"tlc_exp2_flush(floata)", ONE("ex2.approx.ftz.f32")},
    {"tlc_sqrt(floata)", ONE("sqrt.rn.f32")},
    {"tlc_rsqrt(floata)", ONE("rsqrt.approx.f32")},
    {"tlc_floor(floata)", ONE("cvt.rmi.f32.f32")},
    {"tlc_ceil(floata)", ONE("cvt.rpi.f32.f32")},
    {"tlc_round(floata)", ONE("cvt.rni.f32.f32")},
    {"tlc_f32(doublex)", "cvt.rn.f32.f64%0,%1;:=f(d):d(x)"},
    {"tlc_f64(floatx)", "cvt.f64.f32%0,%1;:=d(d):f(x)"},
    {"tlc_tf32(floatx)", "cvt.rna.tf32.f32%0,%1;:=r(d):f(x)"},
    {"tlc_atomic_add_x2(float*p", "red.relaxed.gpu.global.add.v2.f32[%0],{%1,%2};"
                                  "::l(__cvta_generic_to_global(p)),f(v[0]),f(v[1]):memory"},
    {"tlc_atomic_add_x4(float*p",
     "red.relaxed.gpu.global.add.v4.f32[%0],{%1,%2,%3,%4};"
     "::l(__cvta_generic_to_global(p)),f(v[0]),f(v[1]),f(v[2]),f(v[3]):memory"},
};

static char *text; // of all helpers, without quotes and blanks

static void emit_all(Arena *a) {
  Micros s;
  micro_all(&s, a);
  int n = s.list.len, out = 0;
  const Program **p = NEWN(a, const Program *, n);
  CgOptions *o = NEWN(a, CgOptions, n);
  for (int i = 0; i < n; i++) {
    p[i] = s.list.data[i]->p;
    o[i] = (CgOptions){.target = target_find("sm_80"), .out_name = "micro.cu", .debug = true};
  }
  Buf all = {0};
  cg_cuda_all(p, o, n, &all);
  text = arena_alloc(a, all.len + 1);
  for (const char *c = buf_str(&all); *c; c++)
    if (!isspace((unsigned char)*c) && *c != '"') text[out++] = *c;
  text[out] = 0;
  buf_free(&all);
}

START_TEST(instruction) {
  const Row *r = &rows[_i];
  static const char begin[] = "__forceinline__";
  const char *at = text;
  for (;; at++) { // the definition, not a call
    at = strstr(at, r->function);
    ck_assert_msg(at != NULL, "%s is not in the text", r->function);
    const char *line = at;
    while (line > text && strncmp(line, begin, strlen(begin)) && at - line < 40) line--;
    if (!strncmp(line, begin, strlen(begin))) break;
  }
  const char *statement = strstr(at, "asm"), *end = strstr(at, "static__device__");
  ck_assert_msg(statement && (!end || statement < end), "%s has no asm", r->function);
  statement = strchr(statement, '(') + 1;
  ck_assert_msg(!strncmp(statement, r->asm_text, strlen(r->asm_text)) &&
                    !strncmp(statement + strlen(r->asm_text), ");", 2),
                "%s: expected %s, the text is %.240s", r->function, r->asm_text, statement);
}
END_TEST

// A helper in PTX that the table lacks would go unchecked.
START_TEST(all_of_them) {
  size_t n = 0;
  for (const char *c = text; (c = strstr(c, "asm")); c++)
    n += c[3] == '(' || !strncmp(c, "asmvolatile(", 12);
  ck_assert_uint_eq(n, LEN(rows));
}
END_TEST

int main(void) {
  Arena *a = arena_new();
  emit_all(a);
  Suite *s = suite_create("codegen_ptx");
  TCase *t = tcase_create("instructions");
  tcase_add_loop_test(t, instruction, 0, LEN(rows));
  tcase_add_test(t, all_of_them);
  suite_add_tcase(s, t);
  int failed = suite_run(s);
  arena_free(a);
  return failed;
}
