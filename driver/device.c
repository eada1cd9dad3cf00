// The emulator, or a GPU through runtime/.
// SPDX-License-Identifier: MIT
#include "driver/device.h"

#include <string.h>

static int run_emulator(Job *j, const Options *o, uint64_t seed, const RunData *d, EmuArg *args,
                        Buf *where) {
  EmuOptions options = {.seed = seed};
  EmuReport report = {0};
  EmuCall call = {.sizes = d->sizes, .args = args};
  buf_printf(where, "the emulator (%s)", j->target->name);
  bool ok = emu_run(j->thread.data[0], &call, j->target, &options, &report, j->diags);
  if (ok && o->remarks)
    fprintf(stderr,
            "emulator: %llu mma, %llu barriers, %llu shared accesses, %llu bank conflicts, %llu of "
            "%llu global sectors needed\n",
            (unsigned long long)report.mma, (unsigned long long)report.barriers,
            (unsigned long long)report.shared_accesses, (unsigned long long)report.bank_conflicts,
            (unsigned long long)report.global_min, (unsigned long long)report.global_sectors);
  return ok ? EXIT_OK : EXIT_WRONG_PROGRAM;
}

static int status_of(RtStatus s, Buf *err) {
  if (s != RT_OK) fprintf(stderr, "tlc: %s\n", buf_str(err));
  buf_free(err);
  return s == RT_OK ? EXIT_OK : s == RT_MISSING ? EXIT_MACHINE : EXIT_WRONG_PROGRAM;
}

// The launcher's parameters. Returns how many.
static int launch_params(Arena *arena, const Program *p, RtParam **out) {
  int n = p->params.len + p->sizes.len + (p->workspaces.len > 0);
  *out = NEWN(arena, RtParam, n + 1);
  for (int i = 0; i < n; i++) (*out)[i] = (RtParam){data_type(DT_I64), false};
  for (int i = 0; i < p->params.len; i++) {
    const Param *param = &p->params.data[i];
    bool tensor = param->kind == PARAM_TENSOR;
    (*out)[i] = (RtParam){data_type(tensor ? param->buf->dtype : param->var->type), tensor};
  }
  if (p->workspaces.len) (*out)[n - 1] = (RtParam){data_type(DT_U8), true};
  return n;
}

int device_args(Arena *arena, const RunData *d, const EmuArg *args, RtArg **out) {
  const Program *p = d->program;
  RtParam *params;
  int n = launch_params(arena, p, &params);
  *out = NEWN(arena, RtArg, n + 1);
  for (int i = 0; i < n; i++) (*out)[i].param = params[i];
  for (int i = 0; i < p->params.len; i++) {
    const Param *param = &p->params.data[i];
    RtArg *a = &(*out)[i];
    bool tensor = param->kind == PARAM_TENSOR;
    a->host = tensor ? args[i].data : NULL;
    a->bytes = tensor ? args[i].bytes : 0;
    if (tensor) continue;
    if (a->param.type == data_type(DT_F32)) a->scalar.f = (float)args[i].f;
    else if (a->param.type == data_type(DT_F64)) a->scalar.d = args[i].f;
    else if (dt_is_float(param->var->type)) rt_set(a->param.type, &a->scalar.i, 0, args[i].f);
    else a->scalar.i = args[i].i;
  }
  for (int i = 0; i < p->sizes.len; i++) (*out)[p->params.len + i].scalar.i = d->sizes[i];
  return n;
}

// The emitted text with what the runtime has to know of it.
static RtSource source_of(Job *j, const Options *o, const char *arch, Buf *text) {
  CgOptions cg = job_codegen(j, o, 0);
  const Program *p = j->thread.data[0];
  cg_cuda(p, &cg, text);
  RtParam *params;
  int n = launch_params(o->arena, p, &params);
  return (RtSource){.symbol = p->symbol,
                    .params = params,
                    .n = n,
                    .has_check = true,
                    .sizes = p->sizes.len,
                    .has_workspace = p->workspaces.len > 0,
                    .build = {p->symbol, buf_str(text), text->len, arch, RT_SHARED, NULL}};
}

int device_build(Job *j, const Options *o) {
  Buf err = {0}, text = {0};
  RtGpu *gpu = NULL;
  bool there = rt_gpu_open(0, &gpu, &err) == RT_OK;
  const char *arch = arena_str(o->arena, there ? rt_gpu_info(gpu)->arch : j->target->name), *path;
  rt_gpu_close(gpu);
  err.len = 0;
  RtSource source = source_of(j, o, arch, &text);
  RtStatus s = rt_kernel_build(o->arena, &source, &path, &err);
  buf_free(&text);
  return status_of(s, &err);
}

int device_load(Job *j, const Options *o, const RunData *d, EmuArg *args, DeviceKernel *k) {
  Buf err = {0};
  *k = (DeviceKernel){0};
  RtStatus s = rt_gpu_open(0, &k->gpu, &err);
  if (s != RT_OK) return status_of(s, &err);
  k->nargs = device_args(o->arena, d, args, &k->args);
  const RtGpuInfo *info = rt_gpu_info(k->gpu);
  if (info->sm < j->target->sm) {
    fprintf(stderr, "tlc: this GPU (%s, sm_%d) cannot run code for %s\n", info->name, info->sm,
            j->target->name);
    device_free(k);
    return EXIT_MACHINE;
  }
  Buf text = {0};
  RtSource source = source_of(j, o, info->arch, &text);
  s = rt_kernel_load(&source, &k->kernel, &err);
  buf_free(&text);
  if (s != RT_OK) device_free(k);
  return status_of(s, &err);
}

void device_free(DeviceKernel *k) {
  rt_kernel_free(k->kernel);
  rt_gpu_close(k->gpu);
  *k = (DeviceKernel){0};
}

static int run_gpu(Job *j, const Options *o, RunData *d, EmuArg *args, Buf *where) {
  d->wgmma = j->target->bulk;
  DeviceKernel k;
  int status = device_load(j, o, d, args, &k);
  if (status) return status;
  buf_printf(where, "%s (%s)", rt_gpu_info(k.gpu)->name, j->target->name);
  Buf err = {0};
  RtCall *call = NULL;
  RtStatus s = rt_call_new(k.gpu, k.kernel, k.args, k.nargs, &call, &err);
  if (s == RT_OK) s = rt_call_launch(call, rt_gpu_stream(k.gpu), &err);
  if (s == RT_OK) s = rt_gpu_sync(k.gpu, &err);
  for (int i = 0; i < d->program->params.len && s == RT_OK; i++)
    if (d->program->params.data[i].kind == PARAM_TENSOR)
      s = rt_call_fetch(call, i, args[i].data, &err);
  if (s == RT_OK) s = rt_call_guards(call, &err);
  rt_call_free(call);
  device_free(&k);
  return status_of(s, &err);
}

int device_run(Job *j, const Options *o, uint64_t seed, RunData *d, EmuArg *args,
               Buf *where) {
  if (!strcmp(o->device, "emu")) return run_emulator(j, o, seed, d, args, where);
  if (!strcmp(o->device, "auto")) {
    RtGpu *gpu = NULL;
    Buf err = {0};
    bool there = rt_gpu_open(0, &gpu, &err) == RT_OK && rt_gpu_info(gpu)->sm >= j->target->sm;
    rt_gpu_close(gpu);
    buf_free(&err);
    if (!there) return run_emulator(j, o, seed, d, args, where);
  }
  return run_gpu(j, o, d, args, where);
}
