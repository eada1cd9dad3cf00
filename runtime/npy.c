// NumPy's .npy files, format versions 1.0, 2.0 and 3.0 (numpy.lib.format): the magic string, two
// version bytes, a little-endian header length (2 bytes in 1.0, else 4), a Python dict, the data.
// SPDX-License-Identifier: MIT
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HEADER = 64 << 10 };

static const char npy_kinds[RT_TYPE_COUNT] = {
#define RT_TYPE(e, name, bits, kind, npy) [e] = npy,
#include "types.def"
#undef RT_TYPE
};

/* The header's dict literal */

typedef struct {
  const char *at, *end;
  Buf *err;
} Scan;

static void skip_space(Scan *s) {
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
    s->at++;
}

static bool take(Scan *s, const char *word) {
  skip_space(s);
  size_t n = strlen(word);
  if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n)) return false;
  s->at += n;
  return true;
}

static bool fail(Scan *s, const char *want) {
  skip_space(s);
  int n = 0; // quote a little of what is there, printable characters only
  while (n < 12 && s->at + n < s->end && s->at[n] >= ' ' && s->at[n] <= '~') n++;
  buf_printf(s->err, "the .npy header has '%.*s' where %s should be", n, s->at, want);
  return false;
}

// A quoted string without escapes, copied into text[size].
static bool take_string(Scan *s, char *text, size_t size, const char *want) {
  skip_space(s);
  char quote = s->at < s->end ? *s->at : 0;
  if (quote != '\'' && quote != '"') return fail(s, want);
  const char *start = s->at + 1, *stop = memchr(start, quote, (size_t)(s->end - start));
  if (!stop || (size_t)(stop - start) >= size) return fail(s, want);
  memcpy(text, start, (size_t)(stop - start));
  text[stop - start] = 0;
  s->at = stop + 1;
  return true;
}

static bool take_extent(Scan *s, int64_t *out) {
  skip_space(s);
  const char *start = s->at;
  int64_t value = 0;
  for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
    int digit = *s->at - '0';
    if (value > (INT64_MAX - digit) / 10) return fail(s, "an extent that fits 63 bits");
    value = value * 10 + digit;
  }
  if (s->at == start) return fail(s, "an extent");
  if (s->at < s->end && *s->at == 'L') s->at++; // Python 2 wrote 3L
  *out = value;
  return true;
}

static bool take_shape(Scan *s, RtArray *out) {
  if (!take(s, "(")) return fail(s, "a shape tuple");
  out->rank = 0;
  while (!take(s, ")")) {
    if (out->rank == RT_MAX_RANK) {
      buf_printf(s->err, "the .npy shape has more than %d dimensions", RT_MAX_RANK);
      return false;
    }
    if (!take_extent(s, &out->shape[out->rank++])) return false;
    if (!take(s, ",") && !(s->at < s->end && *s->at == ')')) return fail(s, "',' or ')'");
  }
  return true;
}

// "<f4": byte order, kind, bytes. ml_dtypes writes its own types as void ('V'): raw bits.
static bool type_of_descr(const char *descr, RtType *out) {
  if (strlen(descr) != 3 || !strchr("<|=>", descr[0]) || descr[2] < '1' || descr[2] > '8')
    return false;
  char kind = descr[1] == 'V' ? 'u' : descr[1];
  int bits = 8 * (descr[2] - '0');
  if (descr[0] == '>' && bits > 8) return false;
  if (descr[1] == 'V' && bits > 16) return false;
  for (int t = 0; t < RT_TYPE_COUNT; t++) {
    if (npy_kinds[t] != kind || rt_type_bits((RtType)t) != bits) continue;
    // ORDER_RT_TYPE: in types.def uint8 and uint16 precede the floats carried in them.
    if (t == RT_TF32) continue;
    *out = (RtType)t;
    return true;
  }
  return false;
}

static bool take_descr(Scan *s, RtType *out) {
  char descr[32];
  if (take(s, "[")) {
    buf_puts(s->err, "the .npy file holds a structured array; only plain element types are read");
    return false;
  }
  if (!take_string(s, descr, sizeof descr, "an element type")) return false;
  if (type_of_descr(descr, out)) return true;
  const char *why = descr[0] == '>' ? " (big endian)" : "";
  buf_printf(s->err,
             "the .npy element type '%s'%s is not supported; little-endian bool, integers of 8 to "
             "64 bits and floats of 16 to 64 are",
             descr, why);
  return false;
}

static bool scan_dict(Scan *s, RtArray *out, bool *fortran) {
  enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
  int seen = 0;
  if (!take(s, "{")) return fail(s, "'{'");
  while (!take(s, "}")) {
    char key[16];
    if (!take_string(s, key, sizeof key, "a key")) return false;
    int bit = !strcmp(key, "descr")           ? DESCR
              : !strcmp(key, "fortran_order") ? ORDER
              : !strcmp(key, "shape")         ? SHAPE
                                              : 0;
    if (!bit || (seen & bit)) {
      buf_printf(s->err, "the .npy header has the %s key '%s'", bit ? "repeated" : "unknown", key);
      return false;
    }
    seen |= bit;
    if (!take(s, ":")) return fail(s, "':'");
    if (bit == DESCR && !take_descr(s, &out->type)) return false;
    if (bit == SHAPE && !take_shape(s, out)) return false;
    if (bit == ORDER) {
      *fortran = take(s, "True");
      if (!*fortran && !take(s, "False")) return fail(s, "True or False");
    }
    if (!take(s, ",") && !(s->at < s->end && *s->at == '}')) return fail(s, "',' or '}'");
  }
  if (seen == (DESCR | ORDER | SHAPE)) return true;
  buf_printf(s->err, "the .npy header lacks '%s'",
             seen & DESCR ? seen & SHAPE ? "fortran_order" : "shape" : "descr");
  return false;
}

// Elements and bytes that fit 62 bits. A zero extent makes it empty whatever the others are.
static bool sizes_fit(const RtArray *a, Buf *err) {
  int64_t bytes = rt_type_bits(a->type) / 8;
  for (int i = 0; i < a->rank; i++)
    if (a->shape[i] == 0) bytes = 0;
  for (int i = 0; i < a->rank && bytes; i++) {
    if (a->shape[i] > (INT64_MAX >> 1) / bytes) {
      buf_puts(err, "the .npy shape has more bytes than can be addressed");
      return false;
    }
    bytes *= a->shape[i];
  }
  return true;
}

bool rt_npy_header(const void *bytes, size_t n, RtArray *out, bool *fortran, size_t *data_at,
                   Buf *err) {
  const uint8_t *b = bytes;
  if (n < 10 || memcmp(b, "\x93NUMPY", 6)) {
    buf_puts(err, "not a .npy file: it does not start with \\x93NUMPY");
    return false;
  }
  if (b[6] < 1 || b[6] > 3) {
    buf_printf(err, ".npy version %d.%d is not supported; 1.0, 2.0 and 3.0 are", b[6], b[7]);
    return false;
  }
  size_t at = b[6] == 1 ? 10 : 12;
  if (n < at) {
    buf_puts(err, "the .npy file ends inside its header");
    return false;
  }
  size_t len = (size_t)b[8] | (size_t)b[9] << 8;
  if (at == 12) len |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  if (len > MAX_HEADER) {
    buf_printf(err, "the .npy header has %zu bytes; at most %d are read", len, MAX_HEADER);
    return false;
  }
  if (len > n - at) {
    buf_puts(err, "the .npy file ends inside its header");
    return false;
  }
  Scan s = {(const char *)b + at, (const char *)b + at + len, err};
  *out = (RtArray){0};
  *fortran = false;
  *data_at = at + len;
  return scan_dict(&s, out, fortran) && sizes_fit(out, err);
}

/* Files */

typedef struct {
  int fd;
  RtArray array; // without data
  bool fortran;
  off_t data_at;
} File;

// Reads all n bytes at `offset`. False with errno set; a file that ends early gives EIO.
static bool read_all(int fd, void *data, size_t n, off_t offset) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(fd, (char *)data + done, n - done, offset + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = EIO;
      return false;
    }
    done += (size_t)got;
  }
  return true;
}

static RtStatus failed(Buf *err, const char *path, const char *what) {
  buf_printf(err, "%s: %s: %s", path, what, strerror(errno));
  return RT_FAILED;
}

// Opens a file, understands its header and checks that the data is all there.
static RtStatus open_npy(Arena *a, const char *path, File *f, Buf *err) {
  struct stat st;
  f->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (f->fd < 0) return failed(err, path, "cannot open");
  if (fstat(f->fd, &st)) return failed(err, path, "cannot read");
  if (!S_ISREG(st.st_mode)) {
    buf_printf(err, "%s: not a regular file", path);
    return RT_FAILED;
  }
  size_t head = st.st_size < MAX_HEADER + 12 ? (size_t)st.st_size : MAX_HEADER + 12;
  char *bytes = arena_alloc(a, head);
  if (!read_all(f->fd, bytes, head, 0)) return failed(err, path, "cannot read");
  Buf why = {0};
  size_t at = 0;
  bool ok = rt_npy_header(bytes, head, &f->array, &f->fortran, &at, &why);
  f->data_at = (off_t)at;
  if (ok) {
    size_t want = rt_type_bytes(f->array.type, rt_count(&f->array)), have = (size_t)st.st_size - at;
    ok = have == want;
    if (!ok) buf_printf(&why, "the shape needs %zu bytes of data, the file has %zu", want, have);
  }
  if (!ok) buf_printf(err, "%s: %s", path, buf_str(&why));
  buf_free(&why);
  return ok ? RT_OK : RT_FAILED;
}

// Fortran-order data (first index fastest) to row-major; same shape, elements of `size` bytes.
static void to_row_major(const RtArray *shape, size_t size, const char *from, char *to) {
  int64_t stride[RT_MAX_RANK], index[RT_MAX_RANK] = {0}, step = 1, at = 0, n = rt_count(shape);
  if (n == 0) return;
  for (int d = 0; d < shape->rank; d++) {
    stride[d] = step;
    step *= shape->shape[d];
  }
  for (int64_t i = 0; i < n; i++) {
    memcpy(to + (size_t)i * size, from + (size_t)at * size, size);
    for (int d = shape->rank - 1; d >= 0; d--) {
      at += stride[d];
      if (++index[d] < shape->shape[d]) break;
      at -= stride[d] * shape->shape[d];
      index[d] = 0;
    }
  }
}

static RtStatus read_data(const File *f, const char *path, void *data, Buf *err) {
  size_t bytes = rt_type_bytes(f->array.type, rt_count(&f->array));
  if (!f->fortran || f->array.rank < 2)
    return read_all(f->fd, data, bytes, f->data_at) ? RT_OK : failed(err, path, "cannot read");
  Arena *a = arena_new();
  char *raw = arena_alloc(a, bytes);
  bool ok = read_all(f->fd, raw, bytes, f->data_at);
  if (ok) to_row_major(&f->array, (size_t)rt_type_bits(f->array.type) / 8, raw, data);
  arena_free(a);
  return ok ? RT_OK : failed(err, path, "cannot read");
}

RtStatus rt_npy_read(Arena *a, const char *path, RtArray *out, Buf *err) {
  File f;
  RtStatus status = open_npy(a, path, &f, err);
  if (status == RT_OK) {
    *out = f.array;
    out->data = arena_alloc(a, rt_type_bytes(out->type, rt_count(out)));
    status = read_data(&f, path, out->data, err);
  }
  if (f.fd >= 0) close(f.fd);
  return status;
}

// What a file for the array says of itself: raw bits for types that NumPy lacks. False where a
// sub-byte type's last dimension is odd, as its pairs would not be rows of bytes.
static bool file_form(const RtArray *array, RtArray *out) {
  *out = *array;
  int bits = rt_type_bits(array->type);
  if (npy_kinds[array->type] == 'u' && bits <= 16) out->type = bits == 16 ? RT_U16 : RT_U8;
  if (array->type == RT_TF32) out->type = RT_F32;
  if (bits >= 8) return true;
  int last = array->rank - 1;
  if (last < 0 || array->shape[last] % 2) return false;
  out->shape[last] /= 2;
  return true;
}

static RtStatus no_file_form(const RtArray *array, const char *path, Buf *err) {
  buf_printf(err, "%s: %s travels in pairs, so the last dimension must be even", path,
             rt_type_name(array->type));
  return RT_FAILED;
}

static void shape_text(Buf *out, const RtArray *a) {
  buf_putc(out, '(');
  for (int i = 0; i < a->rank; i++)
    buf_printf(out, "%s%lld", i ? ", " : "", (long long)a->shape[i]);
  buf_puts(out, a->rank == 1 ? ",)" : ")");
}

// Says how the file differs from the array, if it does.
static RtStatus agree(const RtArray *file, const RtArray *form, const RtArray *array,
                      const char *path, const char *name, Buf *err) {
  bool bits = form->type != array->type && array->type != RT_TF32;
  if (file->type != form->type) {
    buf_printf(err, "%s: element type %s, but %s is %s%s%s", path, rt_type_name(file->type), name,
               rt_type_name(array->type), bits ? ", which a .npy file holds as " : "",
               bits ? rt_type_name(form->type) : "");
    return RT_FAILED;
  }
  bool same = file->rank == form->rank &&
              !memcmp(file->shape, form->shape, (size_t)file->rank * sizeof file->shape[0]);
  if (same) return RT_OK;
  buf_printf(err, "%s: shape ", path);
  shape_text(err, file);
  buf_printf(err, ", but %s has ", name);
  shape_text(err, form);
  return RT_FAILED;
}

RtStatus rt_npy_load(const char *path, const char *name, const RtArray *into, Buf *err) {
  RtArray form;
  if (!file_form(into, &form)) return no_file_form(into, path, err);
  Arena *a = arena_new();
  File f;
  RtStatus status = open_npy(a, path, &f, err);
  if (status == RT_OK) status = agree(&f.array, &form, into, path, name, err);
  if (status == RT_OK) status = read_data(&f, path, into->data, err);
  if (f.fd >= 0) close(f.fd);
  arena_free(a);
  return status;
}

RtStatus rt_npy_write(const char *path, const RtArray *array, Buf *err) {
  RtArray form;
  if (!file_form(array, &form)) return no_file_form(array, path, err);
  int size = rt_type_bits(form.type) / 8;
  Buf text = {0};
  buf_printf(&text, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': ", size > 1 ? '<' : '|',
             npy_kinds[form.type], size);
  shape_text(&text, &form);
  buf_puts(&text, ", }");
  // The data starts at a multiple of 64 bytes, behind spaces and a newline.
  while ((10 + text.len + 1) % 64) buf_putc(&text, ' ');
  buf_putc(&text, '\n');
  Buf file = {0};
  buf_add(&file, "\x93NUMPY\x01\x00", 8);
  buf_putc(&file, (char)(text.len & 255));
  buf_putc(&file, (char)(text.len >> 8));
  buf_add(&file, text.data, text.len);
  buf_add(&file, array->data, rt_type_bytes(array->type, rt_count(array)));
  int result = file_write(path, file.data, file.len);
  RtStatus status = result == 0 ? RT_OK : failed(err, path, "cannot write");
  buf_free(&text);
  buf_free(&file);
  return status;
}
