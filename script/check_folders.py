#!/usr/bin/env python3
"""Folder order: a file under src/ includes only its own folder and the folders before it.

Exception: text/ may be used by tool/ and src/glim.c only. src/glim.c may use everything but tool/.
"""
import pathlib
import re
import sys

ORDER = ["base", "file", "gpu", "kern", "model", "run", "text", "tool"]
root = pathlib.Path(__file__).resolve().parent.parent / "src"
bad = 0
for path in sorted(root.rglob("*")):
    if path.suffix not in (".c", ".h", ".inc", ".def"):
        continue
    parts = path.relative_to(root).parts
    here = parts[0] if len(parts) > 1 else "glim.c"
    if here not in ORDER and here != "glim.c":
        print(f"src/{here}: this folder has no place in the order {' '.join(ORDER)}")
        bad += 1
        continue
    rank = ORDER.index(here) if here in ORDER else ORDER.index("tool")
    for number, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+"(?:src/)?([^"]+)"', line)
        if not m:
            continue
        # Both written from src/ ("base/mem.h") and from the file's own folder are understood.
        there = m[1].split("/")[0] if "/" in m[1] else here
        if there == here:
            continue
        ok = there in ORDER and ORDER.index(there) < rank
        if there == "tool" or (there == "text" and here not in ("tool", "glim.c")):
            ok = False
        if not ok:
            print(f"{path.relative_to(root.parent)}:{number}: {here} may not include {m[1]}")
            bad += 1
sys.exit(1 if bad else 0)
