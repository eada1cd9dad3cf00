// What host code asks of the machine, answered from --arch.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/handlers.h"
#include "eval/object.h"

#include <string.h>

static Val capability(Ev *ev) {
  return v_pair(ev, v_int(ev->target->sm / 10), v_int(ev->target->sm % 10));
}

Val cu_capability(Ev *ev, Call *c) { return capability(ev); }
Val cu_true(Ev *ev, Call *c) { return v_bool(true); }
Val cu_zero(Ev *ev, Call *c) { return v_int(0); }
Val cu_one(Ev *ev, Call *c) { return v_int(1); }
Val cu_name(Ev *ev, Call *c) {
  return v_str(ev, arena_printf(ev->arena, "NVIDIA %s", ev->target->name));
}

Val cu_sms(Ev *ev, Call *c) {
  diag_remark(ev->diags, c->span, "machine", "%d SMs are assumed for %s", ev->target->sms,
              ev->target->name);
  return v_int(ev->target->sms);
}

Val cu_properties(Ev *ev, Call *c) {
  Val v = obj_new(ev, NULL);
  obj_set(ev, v, "major", v_int(ev->target->sm / 10), c->span);
  obj_set(ev, v, "minor", v_int(ev->target->sm % 10), c->span);
  obj_set(ev, v, "multi_processor_count", v_int(ev->target->sms), c->span);
  obj_set(ev, v, "name", cu_name(ev, c), c->span);
  obj_set(ev, v, "shared_memory_per_block_optin", v_int(ev->target->max_smem_block), c->span);
  obj_set(ev, v, "shared_memory_per_multiprocessor", v_int(ev->target->smem_per_sm), c->span);
  obj_set(ev, v, "regs_per_multiprocessor", v_int(ev->target->regs_per_sm), c->span);
  obj_set(ev, v, "warp_size", v_int(32), c->span);
  return v;
}

Val nv_version(Ev *ev, Call *c) {
  return v_str(ev, arena_printf(ev->arena, "%d.%d", ev->target->sm / 10, ev->target->sm % 10));
}

Val nv_parse(Ev *ev, Call *c) {
  int major = 0, minor = 0;
  if (sscanf(arg_str(ev, c, 0, ""), "%d.%d", &major, &minor) != 2)
    ev_fail(ev, DIAG_CONVERT, c->at[0], v_brief(ev, c->arg[0]), "a version such as \"8.0\"");
  return v_pair(ev, v_int(major), v_int(minor));
}

// On CUDA: e4m3fn and e5m2.
Val tl_fp8(Ev *ev, Call *c) {
  return v_dtype(!strcmp(arg_str(ev, c, 0, "e4m3"), "e5m2") ? DT_E5M2 : DT_E4M3);
}

// Elements of A that one word of a 2:4 sparse operand's metadata speaks of: 4 bits say it of a
// group of 2 float32 or of 4 narrower ones (PTX ISA, "mma.sp").
Val sp_factor(Ev *ev, Call *c) {
  DType a = arg_dtype(ev, c, 0, DT_F16), e = arg_dtype(ev, c, 1, DT_I16);
  return v_int(dt_bits(e) / 4 * (dt_bits(a) == 32 ? 2 : 4));
}

Val tl_nothing(Ev *ev, Call *c) {
  diag_remark(ev->diags, c->span, "hint", "%s.%s has no effect", c->fn->module, c->fn->name);
  return v_opaque(ev, "%s.%s()", c->fn->module, c->fn->name);
}
