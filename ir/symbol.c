// Names that the emitted text cannot give to things of its own.
// SPDX-License-Identifier: MIT
#include "ir/ir.h"

#include <ctype.h>
#include <string.h>

// Keywords of C and C++, CUDA's built-in names, and macros that the headers of an emitted file, or
// gcc's default mode, define.
static const char keywords[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t"
    " char32_t char8_t class co_await co_return co_yield compl concept const const_cast"
    " consteval constexpr constinit continue decltype default delete do double"
    " dynamic_cast else enum explicit export extern false float for friend goto if inline"
    " int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private"
    " protected public register reinterpret_cast requires restrict return short signed"
    " sizeof static static_assert static_cast struct switch template this thread_local"
    " throw true try typedef typeid typename typeof union unsigned using virtual void"
    " volatile wchar_t while xor xor_eq int8_t int16_t int32_t int64_t uint8_t uint16_t"
    " uint32_t uint64_t size_t uintptr_t memcpy threadIdx blockIdx blockDim gridDim"
    " warpSize dim3 uint2 uint4 half half2 cudaStream_t cudaError_t cudaSuccess linux unix"
    " i386 NULL EOF NAN INFINITY HUGE_VAL errno assert stdin stdout stderr offsetof isnan"
    " isinf signbit stream msg msg_size error main std"
    " ";

// Functions and types that C, POSIX and CUDA declare in the global scope: a launcher of that name
// does not compile, or takes the function's place in the program that it is linked into. f and l
// variants of the mathematical ones: without the suffix.
static const char library[] =
    " abort abs accept access acos acosh alarm aligned_alloc alloca asctime asin asinh atan"
    " atan2 atanh atexit atof atoi atol atoll bcmp bcopy bind bsearch bzero calloc cbrt ceil"
    " clock close connect copysign cos cosh cospi creat ctime difftime div div_t"
    " drand48 drem dup erf erfc erfcinv erfcx erfinv exit exp exp10 exp2 expm1 fabs"
    " fadd fclose fdim fdiv fdopen feof ferror fflush ffs fgetc fgetpos fgets finite floor fma"
    " fmax fmin fmod fmul fopen fork fprintf fputc fputs fread free freopen frexp fscanf fseek"
    " fsetpos fsqrt fsub ftell fwrite gamma getc getchar getenv gets gmtime hypot ilogb index"
    " isalnum isalpha isblank iscntrl isdigit isfinite isgraph islower isprint ispunct isspace"
    " isupper isxdigit j0 j1 jn kill labs ldexp ldiv lgamma link listen llabs lldiv llmax llmin"
    " llrint llround localtime log log10 log1p log2 logb lrint lround lseek malloc max mblen"
    " mbstowcs mbtowc memchr memcmp memmove memset min mktime modf nan nanosleep nearbyint"
    " nextafter nexttoward norm norm3d norm4d normcdf normcdfinv open pause perror pipe poll"
    " popen pow printf putc putchar puts qsort raise rand random rcbrt read realloc recv"
    " remainder remove remquo rename rewind rhypot rindex rint rnorm rnorm3d rnorm4d round"
    " roundeven rsqrt scalb scalbln scalbn scanf select send setbuf setenv setvbuf shutdown"
    " signal sin sincos sincospi sinh sinpi sleep snprintf socket sprintf sqrt srand sscanf stat"
    " strcat strchr strcmp strcoll strcpy strcspn strerror strftime strlen strncat strncmp"
    " strncpy strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul"
    " strtoull strxfrm sync syscall system tan tanh tempnam tgamma time timezone tmpfile tmpnam"
    " tolower toupper trunc ullmax ullmin umax umin ungetc unlink vfprintf vprintf vsnprintf"
    " vsprintf wait wcstombs wctomb write y0 y1 yn"
    " ";

// CUDA's vector types are these with 1 to 4 behind, and make_TYPE makes one.
static const char vectors[] =
    " char uchar short ushort int uint long ulong longlong ulonglong float double ";

static bool listed(const char *list, const char *word, size_t len) {
  for (const char *s = list; len && (s = strchr(s, ' ')) && s[1]; s++) {
    if (!strncmp(s + 1, word, len) && s[1 + len] == ' ') return true;
  }
  return false;
}

static bool is_vector(const char *word) {
  if (!strncmp(word, "make_", 5)) word += 5;
  size_t len = strlen(word);
  return len > 1 && word[len - 1] >= '1' && word[len - 1] <= '4' && listed(vectors, word, len - 1);
}

bool sym_keyword(const char *word) { return listed(keywords, word, strlen(word)); }

bool sym_taken(const char *word) {
  size_t len = strlen(word);
  if (sym_keyword(word) || listed(library, word, len) || is_vector(word)) return true;
  if (len > 1 && (word[len - 1] == 'f' || word[len - 1] == 'l') && listed(library, word, len - 1))
    return true;
  return !strncmp(word, "__", 2) || (word[0] == '_' && isupper((unsigned char)word[1])) ||
         !strncmp(word, "tlc_", 4) || !strncmp(word, "TLC_", 4) ||
         (!strncmp(word, "cuda", 4) && isupper((unsigned char)word[4]));
}

bool sym_identifier(const char *word) {
  if (!isalpha((unsigned char)*word) && *word != '_') return false;
  for (const char *s = word; *s; s++) {
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  }
  return true;
}
