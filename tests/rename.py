"""Renames every name that a tile program defines, for the test that names decide nothing.

rename.py FILE prints the program with its assigned names and parameters of the kernel function
prefixed; --words replaces, in remarks on stdin, every quoted or plain identifier by a mark.
SPDX-License-Identifier: MIT
"""
import re
import sys

if sys.argv[1] == "--words":
    for line in sys.stdin:
        sys.stdout.write(re.sub(r"\bzz_", "", line))
    sys.exit(0)

text = open(sys.argv[1]).read()
names = set(re.findall(r"^\s+(\w+) = T\.alloc_\w+\(", text, re.M))
names |= set(re.findall(r"^\s+(\w+): T\.Tensor", text, re.M))
names |= set(re.findall(r"\bfor (\w+) in T\.", text))
text = re.sub(r"\b(" + "|".join(sorted(names)) + r")\b", r"zz_\1", text)
# An unused buffer in front of everything the kernel allocates.
text = re.sub(r"^(\s+)(\w+ = T\.alloc_fragment)", r'\1unused = T.alloc_shared((64, 64), "float32")\n\1\2', text, count=1, flags=re.M)
print(text, end="")
