# Turns prelude sections into rows of a C table: {name, device, needs, text},
# A section is a paragraph that has a line "// @helper NAME [device] [needs A,B]"; its text is the rest.
# SPDX-License-Identifier: MIT
function quote(s) { gsub(/\\/, "&&", s); gsub(/"/, "\\\"", s); return "  \"" s "\\n\"" }
function flush() {
  if (name != "") printf "{\"%s\", %s, \"%s\",\n%s},\n", name, device, needs, text
  name = ""; text = ""
}
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
