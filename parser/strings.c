// Adjacent string literals to one node, and the parts of f-strings.
// SPDX-License-Identifier: MIT
#include "parser/parser.h"

#include <string.h>

static LexStr join_all(Parser *p, const Piece *pieces, int n) {
  if (n == 1) return pieces[0].text;
  size_t len = 0, at = 0;
  for (int i = 0; i < n; i++) len += pieces[i].text.len;
  char *all = arena_alloc(p->arena, len + 1);
  for (int i = 0; i < n; at += pieces[i++].text.len)
    if (pieces[i].text.len) memcpy(all + at, pieces[i].text.data, pieces[i].text.len);
  return (LexStr){all, (uint32_t)len};
}

void ast_fstring_text(Parser *p, FPartVec *parts, LexStr text, Span at) {
  if (text.len) vec_push(p->arena, parts, (AstFPart){.span = at, .text = text});
}

void ast_field(Parser *p, FPartVec *parts, Span at, AstExpr *value, LexStr debug, LexStr conversion,
               AstExpr *spec) {
  AstFPart part = {.span = at, .text = {"", 0}, .value = value, .spec = spec};
  if (conversion.len) part.conversion = conversion.data[0];
  if (debug.data) {
    ast_fstring_text(p, parts, debug, at);
    if (!conversion.len && !spec) part.conversion = 'r';
  }
  vec_push(p->arena, parts, part);
}

static int depth_of(const AstFPart *part) {
  int value = part->value ? part->value->depth : 0, spec = part->spec ? part->spec->depth : 0;
  return value > spec ? value : spec;
}

// Makes one part of the texts from `from` to before `to`.
static AstFPart merge(Parser *p, const FPartVec *parts, int from, int to) {
  AstFPart all = parts->data[from];
  if (to == from + 1) return all;
  size_t len = 0, at = 0;
  for (int i = from; i < to; i++) len += parts->data[i].text.len;
  char *text = arena_alloc(p->arena, len + 1);
  for (int i = from; i < to; at += parts->data[i++].text.len)
    memcpy(text + at, parts->data[i].text.data, parts->data[i].text.len);
  all.text = (LexStr){text, (uint32_t)len};
  all.span = span_join(all.span, parts->data[to - 1].span);
  return all;
}

static AstExpr *fstring(Parser *p, Span at, FPartVec parts) {
  AstExpr *e = ast_leaf(p, at, AST_FSTR);
  FPartVec merged = {0};
  for (int i = 0, end; i < parts.len; i = end) {
    for (end = i + 1; end < parts.len && !parts.data[i].value && !parts.data[end].value;) end++;
    vec_push(p->arena, &merged, merge(p, &parts, i, end));
    if (e->depth <= depth_of(&parts.data[i])) e->depth = depth_of(&parts.data[i]) + 1;
  }
  e->fstr = (AstFParts){merged.data, merged.len};
  return ast_too_deep(p, e->depth, at) ? ast_leaf(p, at, AST_NONE) : e;
}

AstExpr *ast_spec(Parser *p, Span at, FPartVec parts) {
  if (parts.len) at = span_join(parts.data[0].span, parts.data[parts.len - 1].span);
  else at.lo = at.hi;
  return fstring(p, at, parts);
}

// Of bytes and text, the one that differs from the first literal.
static const Piece *odd_one(const PieceVec *pieces) {
  bool bytes = pieces->data[0].kind == TOK_BYTES;
  for (int i = 1; i < pieces->len; i++)
    if ((pieces->data[i].kind == TOK_BYTES) != bytes) return &pieces->data[i];
  return NULL;
}

AstExpr *ast_strings(Parser *p, PieceVec pieces) {
  const Piece *first = &pieces.data[0], *odd = odd_one(&pieces);
  Span at = span_join(first->span, pieces.data[pieces.len - 1].span);
  if (odd) diag_report(p->diags, DIAG_MIXED_STRINGS, odd->span);
  bool plain = true;
  for (int i = 0; i < pieces.len; i++) plain &= pieces.data[i].kind != TOK_FSTR_BEGIN;
  if (plain || odd) {
    AstExpr *e = ast_leaf(p, at, first->kind == TOK_BYTES ? AST_BYTES : AST_STR);
    e->str = join_all(p, pieces.data, pieces.len);
    return e;
  }
  FPartVec parts = {0};
  for (int i = 0; i < pieces.len; i++) {
    const Piece *piece = &pieces.data[i];
    if (piece->kind == TOK_STR) ast_fstring_text(p, &parts, piece->text, piece->span);
    for (int j = 0; j < piece->parts.len; j++)
      vec_push(p->arena, &parts, piece->parts.data[j]);
  }
  return fstring(p, at, parts);
}
