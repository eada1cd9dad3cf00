// Layouts as values: where each element of a tile lives. A fragment layout maps coordinates to
// (thread, register bit), a shared layout to a bit offset, a loop layout to (thread, iteration).
// SPDX-License-Identifier: MIT
#ifndef TLC_LAYOUT_H
#define TLC_LAYOUT_H

#include "ir/ir.h"

typedef enum { OWN_THREAD, OWN_REG, OWN_OFFSET } DigitOwner;

// One digit of an index. A thread digit's stride counts threads; register and offset strides count
// bits (iterations in a loop layout, whose elements have 1 bit).
typedef struct {
  int64_t extent;
  DigitOwner owner;
  int64_t stride;
} Digit;

// The dimensions [first, first + n) of the tile fused row-major (the last one fastest), and the
// fused index split into digits, least significant first. The top digit may overrun the fused
// extent.
typedef struct {
  int first, n;
  int ndigits;
  Digit *digit;
} DigitGroup;

// The threads t + i * stride, i < extent, hold copies of one another.
typedef struct {
  int64_t extent, stride;
} Replica;

struct Layout {
  int ndims;
  int64_t *shape;
  int bits;    // of an element; 1 for a loop layout
  int threads; // of the block; 0 for a shared layout
  int ngroups; // they cover the dimensions in order
  DigitGroup *group;
  int nreplicas;
  Replica *replica;
  int swizzle; // shared: B of the XOR addr[4..4+B) ^= addr[7..7+B) on byte offsets; 0 none
};

/* layout.c: constructors; every shape entry >= 1 */

// Shared tile of rows x cols (the last two dimensions; `lead` leading ones, NULL with 0, are
// outermost). MMA operands: the XOR pattern of 128, 64 or 32 bytes by what divides the row's bytes,
// rows wider than the pattern as panels; otherwise padded so that 16-byte chunks of 8 consecutive
// rows meet all banks.
Layout *layout_swizzled(Arena *a, int rows, int cols, int elem_bits);
Layout *layout_swizzled_nd(Arena *a, const int64_t *shape, int ndims, int elem_bits);
// Row-major, the row pitch `pitch_bits` (>= the row) between consecutive indices of dimension
// ndims-2.
Layout *layout_rows(Arena *a, const int64_t *shape, int ndims, int elem_bits, int64_t pitch_bits);
Layout *layout_linear(Arena *a, const int64_t *shape, int ndims, int elem_bits);
// Fragment or loop: thread = (f / vec) % threads over the row-major flat index f, register
// (f / vec / threads) * vec + f % vec. Any extents, any thread count; vec divides the last extent
// or the tail overruns.
Layout *layout_coalesced(Arena *a, const int64_t *shape, int ndims, int elem_bits, int threads,
                         int vec);
// As above, with digits for each dimension of its own, so that any of them can be dropped: a power
// of two of neighbouring threads (at most a warp where there are rows for the others) along the
// last dimension, the rest along the ones before it. Threads may stay idle. vec divides the last
// extent.
Layout *layout_separate(Arena *a, const int64_t *shape, int ndims, int elem_bits, int threads,
                        int vec);
// Every thread holds the whole tile.
Layout *layout_replicated(Arena *a, const int64_t *shape, int ndims, int elem_bits, int threads);
// The same placement with `n` more leading dimensions: of extent 1, or (shared) outermost tiles.
Layout *layout_lead(Arena *a, const Layout *l, const int64_t *shape, int n);
// The same placement of elements of another width (register strides scale; shared: not allowed).
Layout *layout_with_bits(Arena *a, const Layout *l, int bits);

// The placement of the same elements, in row-major order, under another shape of as many; NULL when
// a dimension's digits overrun it.
Layout *layout_reshape(Arena *a, const Layout *l, const int64_t *shape, int ndims);

/* layout_mma.c: PTX fragments spread over warps. wm x wn warps, the m index fastest (warp = wm_i +
   wm * wn_i); each warp owns a contiguous block of M / wm rows and N / wn columns */

// C of M x N: m16n8 micro tiles; registers (tile_m * tiles_n + tile_n) * 4 + c, in elements.
// pair_m: rows g and g + 8 of a micro tile are rows 2g and 2g + 1 of C. pair_n: columns x of two
// neighbouring micro tiles are columns 2x and 2x + 1 of C.
Layout *layout_mma_c(Arena *a, int m, int n, int bits, int wm, int wn, bool pair_m, bool pair_n);
// A of M x K (K x M when trans), atoms of 16 x (256 / bits): registers (tile_m * tiles_k + tile_k)
// * (128 / bits) + a; replicated over wn. K is rounded up to the atom; B of N x K (K x N when
// !trans): (tile_n * tiles_k + tile_k) * (64 / bits) + b; replicated over wm.
Layout *layout_mma_a(Arena *a, int m, int k, int bits, bool trans, int wm, int wn);
Layout *layout_mma_b(Arena *a, int n, int k, int bits, bool trans, int wm, int wn);

/* layout_wgmma.c: operands of wgmma over wm x wn warpgroups, the m index fastest; each owns a
   contiguous block of M / wm rows and N / wn columns */

// An operand of 8- or 32-bit elements stored along M or N, which no descriptor describes, is loaded
// from shared memory into the instruction's registers. They are those of its rows: with B loaded
// the instruction's product is that of the transposes. A thread's two rows of a block of 64 are
// neighbours: of 8 bits, those that ldmatrix.trans moves as one; of 32 bits, one load, and those of
// a half warp lie in 16-byte chunks of which no two meet in a bank under the XOR of 128 bytes.
typedef enum { WGMMA_NONE_LOADED, WGMMA_A_LOADED, WGMMA_B_LOADED } WgmmaLoaded;

// C of M x N: m64 micro tiles; registers (tile_m * tiles_n8 + tile_n8) * 4 + c, in elements: an
// instruction's run of n / 2 registers starts at (tile_m * tiles_n8 + first tile_n8) * 4. With B
// loaded, M and N change places in that. loaded_bits: of the loaded operand's elements.
Layout *layout_wgmma_c(Arena *a, int m, int n, int bits, int wm, int wn, WgmmaLoaded loaded,
                       int loaded_bits);
// A of M x K (K x M when trans) in registers, atoms of 64 x (256 / bits): registers (tile_m *
// tiles_k + tile_k) * (128 / bits) + a; replicated over wn. K is rounded up to the atom.
Layout *layout_wgmma_a(Arena *a, int m, int k, int bits, bool trans, int wm, int wn);
// An operand that is loaded, K x M (or N), of 32 bits: `groups` warpgroups each own a contiguous
// block of M / groups. Registers as above.
Layout *layout_wgmma_loaded(Arena *a, int m, int k, int groups);

// What adds to the elements of a shared tile that a thread of the first warpgroup loads, at even
// registers of layout_wgmma_loaded, where each thread's first pairs at k % 8 < 4 and k % 8 >= 4 are
// known: by warpgroup, block of 64 and step of 8.
typedef struct {
  int64_t group, block, step;
} WgmmaLoads;
// Of the last two dimensions, K x M, from (k, mn) on. False when that is not the same for all
// threads, or two elements do not lie together.
bool layout_wgmma_loads(Arena *a, const Layout *tile, int64_t k, int64_t mn, int K, int M,
                        int groups, WgmmaLoads *loads);

// Where index x of a matrix adds to its start: x / width * panel + x % width * pitch bytes, before
// the swizzle; x a multiple of `step`. width is the extent where there is one panel.
typedef struct {
  int64_t extent, width, panel, pitch, step;
} WgmmaAxis;

// A shared tile as wgmma descriptors see it.
typedef struct {
  bool mn_major;    // stored along M or N: the instruction's trans bit
  int swizzle;      // B of the pattern, as Layout.swizzle
  int64_t lbo, sbo; // bytes
  int bits;         // of an element
  int align;        // bytes that the tile's address is a multiple of
  WgmmaAxis mn, k;
} WgmmaTile;

// The last two dimensions of a shared layout as M or N by K (K by M or N when mn_major). False when
// no descriptor expresses it.
bool layout_wgmma_tile(const Layout *l, bool mn_major, WgmmaTile *t);
// Bytes from the tile's start to that of the matrix that an instruction reads at (mn, k): `extent`
// of M (64) or N, 256 / bits of K. -1: it is not within the tile, or no descriptor starts there.
int64_t layout_wgmma_start(const WgmmaTile *t, int64_t mn, int64_t k, int extent);
uint32_t layout_wgmma_hi(const WgmmaTile *t); // bits 32-63 of its descriptors
// Bits 0-31 of the descriptor of the matrix at this byte of shared memory.
uint32_t layout_wgmma_lo(const WgmmaTile *t, int64_t byte);
bool layout_wgmma_n(int n, bool integer); // is there an instruction of n columns?

/* layout_eval.c */

int64_t layout_regs(const Layout *l);  // elements a thread holds (iterations it runs)
int64_t layout_bytes(const Layout *l); // of a shared tile
int layout_align(const Layout *l);     // bytes that a shared tile's base must be a multiple of
// Where coord lives: *thread (the copy with replica index 0; unused by shared layouts) and *where:
// the register in bits, or the byte offset in bits, swizzle applied.
void layout_at(const Layout *l, const int64_t *coord, int64_t *thread, int64_t *where);
// The same as expressions, in elements. f (may be NULL) proves what simplifies.
Expr *layout_thread(Arena *a, Facts *f, const Layout *l, Expr **coord);
Expr *layout_where(Arena *a, Facts *f, const Layout *l, Expr **coord);
// The inverse: coordinates of what `thread` holds in its register (iteration) digits. digit[i] is
// the value of the i-th register digit in the order of layout_reg_digits. *valid: NULL when every
// thread and register holds an element of the tile, else the condition.
int layout_reg_digits(const Layout *l, Digit *out, int max); // returns their number
void layout_inverse(Arena *a, Facts *f, const Layout *l, Expr *thread, Expr **digit, Expr **coord,
                    Expr **valid);
// The inverse on integers: false when (thread, reg in elements) holds nothing.
bool layout_coord(const Layout *l, int64_t thread, int64_t reg, int64_t *coord);
// True on one copy of each element (replica indices all zero); NULL when there are no replicas.
Expr *layout_first_copy(Arena *a, const Layout *l, Expr *thread);

// A shared layout as rows of a matrix (its last two dimensions), in elements: offset = leading part
// + row * pitch + column / width * panel + (column % width ^ key), key = (row / repeat % 2^swizzle)
// * chunk. False when the layout has another form.
typedef struct {
  int64_t pitch, width, panel; // panel 0: one panel
  int swizzle;
  int64_t chunk, repeat; // with a swizzle
} LayoutMatrix;
bool layout_matrix(const Layout *l, LayoutMatrix *m);

/* layout_algebra.c */

bool layout_equal(const Layout *x, const Layout *y); // same place for every element, same copies
// Every element of the tile has one place (and its copies), no two share one, all within `threads`.
bool layout_covers(const Layout *l);
// The layout without dimension `dim`: threads that differed only along it become replicas. NULL
// when the dimension's digits cannot be separated from those of its neighbours.
Layout *layout_drop(Arena *a, const Layout *l, int dim);
// The layout with dimensions reordered: dimension i of the result is dimension order[i] of l.
Layout *layout_permute(Arena *a, const Layout *l, const int *order);
// The layout of the first shape[d] indices of each dimension, where that takes nothing but
// registers: the same threads hold any such part that begins at multiples of `shape`. Its registers
// are numbered anew, in the same order. NULL: threads would be idle.
Layout *layout_part(Arena *a, const Layout *l, const int64_t *shape);
// The same places, registers (iterations of a loop layout) numbered anew where none of the last
// dimension's follow one another but a thread has neighbours along it: those come first.
Layout *layout_runs(Arena *a, const Layout *l);
// Elements contiguous along the innermost dimension in one thread's consecutive registers (or in
// shared memory), aligned to their number.
int64_t layout_vector(const Layout *l);
// Extra 32-lane shared-memory cycles when lane i accesses `bytes` bytes at byte offset off[i] (-1:
// idle).
int layout_conflicts(const int64_t *off, int lanes, int bytes);

/* layout_text.c: layout(128x32: 16 bits, 128 threads; 0: 32t4 4r64; 1: 8r16 4t1; rep 2t64; xor 3)
 */

void layout_print(const Layout *l, Buf *out);
Layout *layout_parse(Arena *a, const char **text); // advances *text; NULL when malformed

#endif
