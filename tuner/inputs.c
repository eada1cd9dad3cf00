// What all candidates of one problem size share: inputs, and what their outputs are compared with.
// SPDX-License-Identifier: MIT
#include "tuner/runner.h"

#include <string.h>

#define REFERENCE_SECONDS 3.0 // for the oracle, where it may take samples

// Do both take tensors of the same types and shapes, with the same roles?
bool tn_inputs_fit(const TnInputs *in, const Program *p, const char *sizes) {
  if (!in->arena || strcmp(in->sizes, sizes)) return false;
  const RunData *d = &in->data;
  const Program *q = d->program;
  RunData own = *d;
  own.program = p;
  if (p->params.len != q->params.len || p->sizes.len != q->sizes.len) return false;
  for (int i = 0; i < p->sizes.len; i++)
    if (strcmp(p->sizes.data[i]->name, q->sizes.data[i]->name)) return false;
  for (int i = 0; i < p->params.len; i++) {
    const Param *a = &p->params.data[i], *b = &q->params.data[i];
    if (a->kind != b->kind || strcmp(a->name, b->name)) return false;
    if (a->kind != PARAM_TENSOR) continue;
    if (a->role != b->role || a->buf->dtype != b->buf->dtype || a->buf->ndim != b->buf->ndim)
      return false;
    if (a->buf->strides || b->buf->strides) return false;
    for (int k = 0; k < a->buf->ndim; k++)
      if (data_index(&own, a->buf->shape[k]) != d->array[i].shape[k]) return false;
  }
  return true;
}

// The arguments of the launcher of `p`, in terms of the data.
int tn_inputs_args(const TnInputs *in, Arena *a, const Program *p, RtArg **out) {
  const RunData *d = &in->data;
  RunData own = *d;
  own.program = p;
  EmuArg *args = NEWN(a, EmuArg, p->params.len + 1);
  for (int i = 0; i < p->params.len; i++) {
    args[i].i = d->scalar_i[i];
    args[i].f = d->scalar_f[i];
    args[i].data = p->params.data[i].role == ROLE_OUT ? NULL : d->array[i].data;
    args[i].bytes = d->bytes[i];
  }
  return device_args(a, &own, args, out);
}

static void drop_picks(TnReference *r) {
  for (int i = 0; i < r->outputs.len; i++) rt_pick_free(r->outputs.data[i].pick);
  *r = (TnReference){0};
}

void tn_inputs_drop(TnInputs *in, RtGpu *gpu) {
  drop_picks(&in->reference);
  drop_picks(&in->declared);
  tn_cublas_drop(in, gpu);
  for (int i = 0; i < in->owner.program->params.len; i++)
    if (in->pinned[i]) rt_gpu_unpin(gpu, in->got[i]);
  tn_program_close(&in->owner);
  arena_free(in->arena);
  *in = (TnInputs){0};
}

bool tn_inputs_make(TnInputs *in, TnProgram *owner, const char *sizes, Buf *why) {
  const Program *p = owner->program;
  Options o = owner->options;
  *in = (TnInputs){.arena = arena_new(), .owner = *owner};
  o.arena = in->arena;
  in->sizes = arena_str(in->arena, sizes);
  in->got = NEWN(in->arena, void *, p->params.len + 1);
  in->pinned = NEWN(in->arena, bool, p->params.len + 1);
  if (data_make(&in->data, p, &o)) {
    buf_puts(why, "its inputs cannot be made");
    tn_inputs_drop(in, NULL);
    return false;
  }
  const Target *target = target_find(o.arch);
  in->data.wgmma = target && target->bulk;
  return true;
}

static void need_declared(TnInputs *in, const Options *o, const RunData *d, const char *text) {
  Buf why = {0};
  if (!text || in->tried_declared) return;
  in->tried_declared = true;
  if (!tn_declared(in->arena, text, d, o->seed, &in->declared, &why)) {
    in->declared = (TnReference){0};
    fprintf(stderr, "tlc: %s: the oracle alone checks\n", buf_str(&why));
  }
  buf_free(&why);
}

bool tn_inputs_reference(TnInputs *in, const Options *o, TnProgram *of, const char *declared,
                         Buf *why) {
  if (in->reference.outputs.len) return true;
  RunData d = in->data;
  d.program = of->program;
  need_declared(in, o, &d, declared);
  Diags *diags = of->job.diags;
  if (tn_reference(in->arena, &d, o->seed, REFERENCE_SECONDS, o->tune.jobs, diags, &in->reference))
    return true;
  const char *text = diag_first(diags, NULL);
  buf_printf(why, "the oracle: %s", text ? text : "no reason given");
  return false;
}
