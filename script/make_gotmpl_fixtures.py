#!/usr/bin/env python3
"""Writes test/data/gotmpl.json: what Ollama makes of its templates.

    python3 script/make_gotmpl_fixtures.py [FOLDER SOURCE [hash]]

Renders the templates that the file has already, and those in FOLDER/*.gotmpl, which are added with
SOURCE as where they come from, under the conversations of gotmpl_cases.py; and its snippets of the
language. With "hash", for templates of models whose licence does not allow copies, only the SHA-256
is kept of each; the test then looks for it in models/templates/, and so does this script, which
leaves as it is what it does not find. Needs Go, and the module github.com/ollama/ollama in the
version below. Renderings that are longer than some bytes are kept as their SHA-256.
"""
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from gotmpl_cases import DATA, SNIPPETS, TALKS  # noqa: E402

OLLAMA = "v0.17.4"
OUT = Path("test/data/gotmpl.json")
LONG = 160


def oracle(cases):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "gotmpl_oracle.go", Path(folder) / "main.go")
        for args in (["mod", "init", "oracle"], ["get", f"github.com/ollama/ollama@{OLLAMA}"],
                     ["mod", "tidy"], ["build", "-o", "oracle", "."]):
            subprocess.run(["go", *args], cwd=folder, check=True, capture_output=True)
        run = subprocess.run([f"{folder}/oracle"], input=json.dumps(cases), text=True,
                             capture_output=True, check=True)
    return json.loads(run.stdout)


def short(result):
    text = result.get("text")
    if text is not None and len(text.encode()) > LONG:
        return {"sha256": sha(text)}
    if "error" in result:
        return {"error": result["error"][:60]}
    if "load" in result:
        return {"load": result["load"][:60]}
    return result


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(t):
    """A template's text, or None where only its hash is here."""
    if "text" in t:
        return t["text"]
    path = Path("models/templates") / (t["name"] + ".gotmpl")
    text = path.read_bytes().decode() if path.exists() else None
    return text if text is not None and sha(text) == t["sha256"] else None


def snippet(entry):
    text, data = entry
    return {"template": text} if data is None else {"template": text, "talk": data}


def main():
    kept = json.loads(OUT.read_text())["templates"] if OUT.exists() else []
    texts = {t["name"]: text_of(t) for t in kept}
    entries = list(kept)
    for path in sorted(Path(sys.argv[1]).glob("*.gotmpl")) if len(sys.argv) > 1 else []:
        text = path.read_bytes().decode()
        if text in texts.values():
            continue
        texts[path.stem] = text
        entry = {"name": path.stem, "source": sys.argv[2]}
        entries.append({**entry, "sha256": sha(text)} if sys.argv[3:] else {**entry, "text": text})
    here = [t for t in entries if texts[t["name"]] is not None]
    snippets = [snippet(s) for s in SNIPPETS]
    made = oracle({"talks": TALKS, "templates": [texts[t["name"]] for t in here], "snippets": snippets, "data": DATA})
    for t, cases in zip(here, made["templates"]):
        t["cases"] = [short(c) for c in cases]
    for s, r in zip(snippets, made["snippets"]):
        s.update(short(r))
    whole = {"ollama": OLLAMA, "go": made["go"], "data": DATA, "talks": TALKS,
             "templates": entries, "snippets": snippets}
    OUT.write_text(json.dumps(whole, ensure_ascii=False, indent=0) + "\n")
    n = sum("error" not in c for t in entries for c in t["cases"])
    print(f"{len(entries)} templates, {n} renderings, {len(snippets)} snippets")


main()
