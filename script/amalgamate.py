#!/usr/bin/env python3
"""usage: amalgamate.py OUT SOURCE...

Joins the library's sources into one C file, in the order of the folders. Internal headers are
written where they are first needed, .def and .inc files wherever they are included, <glim.h> stays
an include. Macros of a .c file end with it. Two files that use one name for a static function,
variable, struct or enum cannot be joined: that is an error which names both.
"""
import pathlib
import re
import sys

ORDER = ["base", "file", "gpu", "kern", "model", "run", "text", "glim.c"]
ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
STATIC = re.compile(r"static\b[^;={(]*?\b(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|;|\((?!\())")
TYPE = re.compile(r"(?:typedef\s+)?((?:struct|enum|union)\s+\w+)\s*\{")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
DEFINE = re.compile(r"\s*#\s*define\s+(\w+)")
done = set()


def find(name, includer):
    for folder in (includer.parent, ROOT / "src", ROOT / "include", ROOT / "build/inc"):
        if (folder / name).is_file():
            return (folder / name).resolve()
    sys.exit(f"{includer}: cannot find {name}")


def expand(path, out, defines):
    """Appends path's lines with internal includes resolved; notes the macros that they define."""
    depth = 0
    guarded = path.suffix == ".h"  # the include guard itself is one level of #if
    out.append(f'#line 1 "{path.relative_to(ROOT)}"')
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.match(r"\s*#\s*if", line):
            depth += 1
        elif re.match(r"\s*#\s*endif", line):
            depth -= 1
        m = INCLUDE.match(line)
        if not m:
            d = DEFINE.match(line)
            if d:
                defines.append(d[1])
            out.append(line)
            continue
        inner = find(m[1], path)
        if inner.suffix == ".h":
            if inner in done:
                continue
            # A header inside #if may be absent from a build: keep it for its next user as well.
            if depth <= (1 if guarded else 0):
                done.add(inner)
            expand(inner, out, [])
        else:
            expand(inner, out, defines)
        out.append(f'#line {number + 1} "{path.relative_to(ROOT)}"')


def names(path):
    """The file-scope names of one .c file: what would collide with another file's."""
    found = set()
    for line in path.read_text().splitlines():
        m = STATIC.match(re.sub(r"^ ", "", ATTRIBUTE.sub("", line)))
        if m:
            found.add(m[1])
        m = TYPE.match(line)
        if m:
            found.add(m[1])
    return found


def main():
    target, sources = sys.argv[1], [pathlib.Path(s).resolve() for s in sys.argv[2:]]

    def place(source):
        relative = source.relative_to(ROOT / "src")
        return ORDER.index(relative.parts[0]), str(relative)

    sources.sort(key=place)
    owner, bad = {}, 0
    for source in sources:
        for name in sorted(names(source)):
            if name in owner:
                a, b = owner[name].relative_to(ROOT), source.relative_to(ROOT)
                print(f"{b}: {name} is also a file-local name in {a}; rename one", file=sys.stderr)
                bad += 1
            owner.setdefault(name, source)
    if bad:
        sys.exit(1)
    out = ["/* glim in one file, made by script/amalgamate.py. Compile with -std=gnu11 -O3",
           " * -fno-math-errno -ffp-contract=off -fvisibility=hidden -pthread; link with -lm. */",
           "#ifndef _GNU_SOURCE", "#define _GNU_SOURCE", "#endif"]
    for source in sources:
        defines = []
        expand(source, out, defines)
        out += [f"#undef {name}" for name in dict.fromkeys(defines)]
    pathlib.Path(target).write_text("\n".join(out) + "\n")


main()
