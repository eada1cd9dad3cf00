// numeric: exact conversions between the narrow float formats and C's float and double.
// SPDX-License-Identifier: MIT
#ifndef TLC_NUMERIC_H
#define TLC_NUMERIC_H

#include <stdbool.h>
#include <stdint.h>

/* numeric.c
   Values are carried as raw bits. Every "from" rounds once, to nearest, ties to even, with gradual
   underflow, whatever the host's rounding mode. A NaN becomes the format's canonical one as CUDA's
   cvt gives it (positive, all ones: 0x7fff, 0x7f); a "to" is exact and keeps a NaN's sign and bits.

   format  layout  bias  largest finite   infinities
   f16     1.5.10   15   65504            yes        IEEE 754 binary16
   bf16    1.8.7   127   0x1.fep127       yes        upper half of binary32
   e4m3    1.4.3     7   448              none       OCP FP8 E4M3FN; NaN is 0x7f and 0xff alone
   e5m2    1.5.2    15   57344            yes        OCP FP8
   tf32    1.8.10  127   0x1.ffcp127      yes        a float whose low 13 fraction bits are zero */

uint16_t num_f16_from_f32(float x);
uint16_t num_f16_from_f64(double x);
float num_f16_to_f32(uint16_t h);

uint16_t num_bf16_from_f32(float x);
uint16_t num_bf16_from_f64(double x);
float num_bf16_to_f32(uint16_t h);

// satfinite: a magnitude past the largest finite value, infinity included, becomes that value, as
// in PTX cvt.satfinite. Otherwise it becomes infinity in e5m2 and NaN in e4m3.
uint8_t num_e4m3_from_f32(float x, bool satfinite);
uint8_t num_e4m3_from_f64(double x, bool satfinite);
float num_e4m3_to_f32(uint8_t b);

uint8_t num_e5m2_from_f32(float x, bool satfinite);
uint8_t num_e5m2_from_f64(double x, bool satfinite);
float num_e5m2_to_f32(uint8_t b);
// e2m1 (fp4): no infinity, no NaN: both become the largest value, 6; the low four bits.
uint8_t num_e2m1_from_f64(double x);
float num_e2m1_to_f32(uint8_t b);

// Nearest, ties away from zero, as PTX cvt.rna.tf32.f32; may overflow to infinity.
float num_tf32_from_f32(float x);
// Toward zero: what the matrix units see of a float given to them as tf32. A NaN stays one.
float num_tf32_trunc(float x);

uint32_t num_f32_bits(float x);
float num_f32_of_bits(uint32_t bits);
uint64_t num_f64_bits(double x);
double num_f64_of_bits(uint64_t bits);

#endif
