# Turns prelude sections into rows of a C table: {name, device, needs, text},
# A section is a paragraph that has a line "// @helper NAME [device] [needs A,B]"; its text is the rest.
# A paragraph "// @like NAME OLD=NEW..." is that section again with each OLD replaced, NAME's too.
# SPDX-License-Identifier: MIT
function quote(s) { gsub(/\\/, "&&", s); gsub(/"/, "\\\"", s); return "  \"" s "\\n\"" }
function row(name, needs, text) {
  printf "{\"%s\", %s, \"%s\",\n%s},\n", name, device, needs, text
}
function flush() {
  if (name != "") {
    row(name, needs, text)
    kept[name] = text; kept_needs[name] = needs; kept_device[name] = device
  }
  name = ""; text = ""
}
function like(    n, i, pair, t, w) {
  if (!($3 in kept)) { print "prelude.awk: no section " $3 > "/dev/stderr"; exit 1 }
  n = $3; t = kept[n]; w = kept_needs[n]; device = kept_device[n]
  for (i = 4; i <= NF; i++) {
    split($i, pair, "=")
    gsub(pair[1], pair[2], n); gsub(pair[1], pair[2], t); gsub(pair[1], pair[2], w)
  }
  row(n, w, t)
  kept[n] = t; kept_needs[n] = w; kept_device[n] = device
}
/^\/\/ @like / { like(); next }
/^\/\/ @helper / {
  name = $3; device = "false"; needs = ""
  for (i = 4; i <= NF; i++) {
    if ($i == "device") device = "true"
    if ($i == "needs") needs = $(i + 1)
  }
  next
}
/^$/ { flush(); next }
{ text = text quote($0) "\n" }
END { flush() }
