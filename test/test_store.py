#!/usr/bin/env python3
"""Tests of models by name: Ollama's store and LeapBundles, as the program sees them.

usage: test_store.py [PROGRAM], from the root of a checkout; prints TAP. Stores are made here, around
the fixtures, and thrown away.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from store_rig import (answer, bundle, fails, GEMMA, glim, HOME, HOST, LFM, listed, LLAMA, PLAIN, QWEN,
                       SPACE, Store, talk)
from tool_rig import FOLDER, GLIM, main, saying, Skip, test

# ---- Names ---------------------------------------------------------------------------------------


@test
def models_are_listed_and_run_by_name():
    s = Store()
    s.add("tiny:1b")
    s.add("tiny:latest", model=QWEN)
    s.add(f"{HOST}/someone/tiny/1b")
    s.add("hf.co/LiquidAI/LFM2-350M-GGUF/Q4_K_M")
    s.add("localhost:5000/ns/model/tag")
    m = listed(s)
    assert set(m) == {"tiny:1b", "tiny:latest", "someone/tiny:1b", "hf.co/LiquidAI/LFM2-350M-GGUF:Q4_K_M",
                      "localhost:5000/ns/model:tag"}, m
    one = m["tiny:1b"]
    assert one["family"] == "llama" and one["context"] == 1024 and one["quant"] == "F32", one
    assert one["bytes"] == os.path.getsize(LLAMA) + 2 and one["error"] is None, one
    plan = json.loads(glim("inspect", LLAMA, "--json", code=0).text)["plan"]
    assert one["memory"] == plan["total"] and one["fits"] is True, one
    table = glim("list", store=s, code=0, quiet=True).text
    assert re.search(r"^tiny:1b +[\d.]+ kB +llama +F32 +1024 +[\d.]+ MB  fits$", table, re.M), table
    for name in ["tiny:1b", "TINY:1B", "library/tiny:1b", f"{HOST}/library/tiny:1b", "someone/tiny:1b",
                 "hf.co/LiquidAI/LFM2-350M-GGUF:Q4_K_M", "hf.co/liquidai/lfm2-350m-gguf:q4_k_m",
                 "https://hf.co/LiquidAI/LFM2-350M-GGUF:Q4_K_M", "localhost:5000/ns/model:tag"]:
        assert answer(name, store=s) == PLAIN, name
    assert answer("tiny", store=s) == answer("tiny:latest", store=s) == answer(os.path.abspath(QWEN))
    # The other commands take names too.
    want = glim("tokenize", "-m", LLAMA, "a b", code=0).text
    assert glim("tokenize", "-m", "tiny:1b", "a b", store=s, code=0, quiet=True).text == want
    assert "architecture: llama" in glim("inspect", "tiny:1b", store=s, code=0, quiet=True).text
    assert glim("logits", "tiny:1b", "--ids", "1", store=s, code=0, quiet=True).text


@test
def the_families_of_small_machines_load_from_a_store():
    s = Store()
    s.add("gemma4:e2b", model=GEMMA)
    s.add("hf.co/LiquidAI/LFM2-350M-GGUF/Q8_0", model=LFM)
    for name, path in [("gemma4:e2b", GEMMA), ("hf.co/LiquidAI/LFM2-350M-GGUF:Q8_0", LFM)]:
        inspected = json.loads(glim("inspect", path, "--json", code=0).text)
        m = listed(s)[name]
        assert m["family"] == inspected["architecture"] and m["error"] is None, m
        assert m["memory"] == inspected["plan"]["total"], m
        ids = ["--ids", "1 2 3", "--raw"]
        want = subprocess.run([GLIM, "logits", path, *ids], stdout=subprocess.PIPE, check=True).stdout
        got = subprocess.run([GLIM, "logits", name, *ids], stdout=subprocess.PIPE, check=True,
                             env={**os.environ, "OLLAMA_MODELS": str(s.path)}).stdout
        assert got == want and len(got) > 100, name


@test
def unwritable_stdout_is_a_failure():
    s = Store()
    s.add("tiny:latest")
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    for args in [["list"], ["list", "--json"], ["show", "tiny"], ["show", "tiny", "--json"]]:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([GLIM, *args], stdout=full, stderr=subprocess.PIPE,
                                  env={**os.environ, "OLLAMA_MODELS": str(s.path)})
        said = done.stderr.decode()
        assert done.returncode == 1 and "cannot write to standard output" in said, (args, said)


@test
def the_very_same_case_wins():
    s = Store()
    s.add("Mixed:a")
    s.add("mixed:a", model=QWEN)
    if len(listed(s)) < 2:
        raise Skip("this file system knows no case")
    assert answer("Mixed:a", store=s) == PLAIN != answer("mixed:a", store=s)
    fails("Mixed:a", "mixed:a", "case", args=["run", "MIXED:a", "hi"], store=s)


@test
def a_missing_name_says_what_is_near_and_where_it_looked():
    s = Store()
    for name in ["gemma4:e2b", "gemma4:e4b", "qwen3:4b"]:
        s.add(name)
    missing = str(HOME / ".ollama/models")
    fails("'gemma4'", "gemma4:e2b", "gemma4:e4b", f"{s.path} (3 models)", f"{missing} (no such folder)",
          "/usr/share/ollama/.ollama/models", args=["run", "gemma4", "hi"], store=s)
    r = fails("did you mean gemma4:e2b, gemma4:e4b?", args=["run", "gema4", "hi"], store=s)
    assert "qwen3" not in r.said, r
    r = fails("no model 'zzzzzzzz'", args=["show", "zzzzzzzz"], store=s)
    assert "did you mean" not in r.said, r
    # What reads like a path gets the answer for paths.
    for path in ["nothing.gguf", "./nothing", "../nothing", "/nothing/at/all", "a/b/c/d/e"]:
        r = fails("no such file", args=["run", path, "hi"], store=s)
        assert "did you mean" not in r.said, r
    for name in ["a:b:c", "a//b", "sha256:x@y", "..", "a\\b", "x:../y"]:
        assert glim("run", name, "hi", store=s).code == 1
        fails("not a model's name", args=["show", name], store=s)


@test
def a_file_goes_before_a_name():
    s = Store()
    s.add("tiny:latest", model=QWEN)
    folder = tempfile.mkdtemp(dir=FOLDER.name)
    assert answer("tiny", store=s, cwd=folder) != PLAIN
    shutil.copy(LLAMA, os.path.join(folder, "tiny"))
    assert answer("tiny", store=s, cwd=folder) == PLAIN
    os.remove(os.path.join(folder, "tiny"))
    os.mkdir(os.path.join(folder, "tiny"))  # a folder is no model
    assert answer("tiny", store=s, cwd=folder) != PLAIN
    os.mkdir(os.path.join(folder, "other"))
    fails("is a directory", args=["run", "other", "hi"], store=s, cwd=folder)


# ---- Folders -------------------------------------------------------------------------------------


@test
def stores_are_searched_in_order():
    a, b = Store(), Store()
    home = pathlib.Path(tempfile.mkdtemp(dir=FOLDER.name))
    (home / ".ollama").mkdir()
    shutil.move(b.path, home / ".ollama/models")
    b.path = home / ".ollama/models"
    a.add("tiny:latest")
    b.add("tiny:latest", model=QWEN)
    b.add("home:latest")
    assert answer("tiny", store=a, home=home) == PLAIN == answer("home", store=a, home=home)
    assert answer("tiny", home=home) != PLAIN  # without the variable
    d = json.loads(glim("list", "--json", store=a, home=home, code=0).text)
    errors = {m["manifest"]: m["error"] for m in d["models"] if m["store"].startswith(FOLDER.name)}
    assert len(errors) == 3, errors
    for path, error in errors.items():
        hidden = path.startswith(str(home)) and "tiny" in path
        assert bool(error) == hidden and (not hidden or "hidden" in error), errors
    # The same folder twice is one store.
    assert len(listed(b, home=home)) == 2


@test
def the_variable_is_taken_as_people_write_it():
    s = Store()
    s.add("tiny:latest")
    link = os.path.join(FOLDER.name, "link")
    os.symlink(s.path, link)
    under_home = HOME / "mine"
    os.symlink(s.path, under_home)
    for value in [f"{s.path}/", f'"{s.path}"', f" '{s.path}' ", link, link + "//", "~/mine", s.path.name]:
        assert answer("tiny", models=str(value), cwd=s.path.parent) == PLAIN, value
    os.remove(under_home)
    for value in ["", " ", '""']:
        fails("no model 'tiny'", str(HOME / ".ollama/models"), args=["run", "tiny", "hi"], models=value)
    fails("/nowhere (no such folder)", args=["run", "tiny", "hi"], models="/nowhere")
    r = glim("list", models="/nowhere", code=0)
    assert "glim: /nowhere: no such folder\n" in r.said, r
    empty = tempfile.mkdtemp(dir=FOLDER.name)
    r = glim("list", models=empty, code=0)
    assert f"glim: {empty}: no manifests folder in it\n" in r.said, r
    fails("no model", args=["show", "tiny"], models=empty, home=None)


@test
def unreadable_folders_are_named():
    if os.geteuid() == 0:
        # Root reads everything; a file in place of the folder cannot be read by anyone.
        s = Store()
        (s.path / "manifests").write_text("")
        fails("cannot read", args=["run", "tiny", "hi"], store=s)
        return
    s = Store()
    s.add("tiny:latest")
    os.chmod(s.path / "manifests", 0)
    try:
        fails("Permission denied", args=["run", "tiny", "hi"], store=s)
    finally:
        os.chmod(s.path / "manifests", 0o755)


@test
def nothing_is_written():
    s = Store()
    s.add("tiny:latest", s.layer("params", b'{"temperature": 0}'))

    def state():
        return {p: (p.lstat().st_mtime_ns, p.lstat().st_size) for p in sorted(s.path.rglob("*"))}
    before = state()
    glim("list", store=s, code=0)
    glim("show", "tiny", "--verify", store=s, code=0)
    answer("tiny", store=s)
    assert state() == before


# ---- What is wrong with a model stays with it ----------------------------------------------------


@test
def one_bad_manifest_hides_no_other():
    s = Store()
    s.add("good:latest")
    ok = json.loads((s.path / f"manifests/{HOST}/{SPACE}/good/latest").read_text())
    hexes = ok["layers"][0]["digest"][7:]
    bad = {
        "truncated": (json.dumps(ok)[:-20], "not JSON"),
        "empty": ("", "not JSON"),
        "binary": (b"\xff\x00\x01", "not JSON"),
        "list": ("[]", "not a JSON object"),
        "version": (json.dumps({**ok, "schemaVersion": 1}), "schemaVersion"),
        "no-layers": ('{"schemaVersion": 2}', "no list of layers"),
        "layers-text": ('{"schemaVersion": 2, "layers": "x"}', "no list of layers"),
        "layer-text": ('{"schemaVersion": 2, "layers": ["x"]}', "layer 1 is not an object"),
        "nothing": ('{"schemaVersion": 2, "layers": []}', "no GGUF model"),
        "deep": ("[" * 100000, "not JSON"),
    }

    def broken(**change):
        return json.dumps({**ok, "layers": [{**ok["layers"][0], **change}]})
    for i, digest in enumerate(["sha256:../../x", "sha256:" + "../" * 21 + "x", "sha256:" + hexes[1:],
                                "sha256:" + hexes + "0", "sha512:" + hexes, "", hexes, "sha256:" + "g" * 64,
                                "sha256/" + hexes, 7, None]):
        bad[f"digest{i}"] = (broken(digest=digest), "64 hexadecimal digits")
        config = {**ok["config"], "digest": digest}
        bad[f"config{i}"] = (json.dumps({**ok, "config": config}), "the config: the digest")
    for i, size in enumerate([-1, "12", 1.5, None, 2**70]):
        bad[f"size{i}"] = (broken(size=size), "JSON" if size == 2**70 else "size is not a count")
    for i, size in enumerate([2**62, 0, ok["layers"][0]["size"] + 1]):
        bad[f"bytes{i}"] = (broken(size=size), "not the manifest's")
    bad["media"] = (broken(mediaType=5), "mediaType")
    for name, (text, _) in bad.items():
        s.manifest(f"{HOST}/{SPACE}/{name}/latest", text)
    os.symlink("/nowhere/at/all", s.path / f"manifests/{HOST}/{SPACE}/good/dangling")
    (s.path / f"manifests/{HOST}/{SPACE}/good/.hidden").write_text("x")
    (s.path / f"manifests/{HOST}/stray").write_text("x")
    m = listed(s)
    assert set(m) == {f"{n}:latest" for n in [*bad, "good"]} | {"good:dangling"}, m.keys()
    assert m["good:latest"]["error"] is None and m["good:latest"]["fits"] is True
    for name, (_, words) in bad.items():
        assert words in m[f"{name}:latest"]["error"], (name, m[f"{name}:latest"])
        fails(words, f"{name}:latest", args=["run", name, "hi"], store=s)
    assert answer("good", store=s) == PLAIN
    table = glim("list", store=s, code=0, quiet=True).text
    assert len(re.findall(r"^\S+ +- +- +- +- +\S.*\S$", table, re.M)) == len(bad) + 1, table


@test
def upper_case_digests_are_the_same_digests():
    s = Store()
    full = s.add("tiny:latest")
    path = s.path / "manifests" / full
    d = json.loads(path.read_text())
    d["layers"][0]["digest"] = "sha256-" + d["layers"][0]["digest"][7:].upper()
    path.write_text(json.dumps(d))
    assert answer("tiny", store=s) == PLAIN


@test
def incomplete_blobs_are_told_apart():
    s = Store()
    data = pathlib.Path(LLAMA).read_bytes()
    for name, kind in [("gone", "missing"), ("short", "has 5000 bytes"), ("part", "not finished"),
                       ("part0", "not finished")]:
        mine = data + name.encode()  # bytes of its own
        s.add(f"{name}:latest", s.layer("model", mine), model=None)
        blob = s.path / "blobs" / ("sha256-" + hashlib.sha256(mine).hexdigest())
        if name == "short":
            blob.write_bytes(mine[:5000])
        else:
            blob.unlink()
        if name.startswith("part"):
            ending = "-partial" if name == "part" else "-partial-0"
            blob.with_name(blob.name + ending).write_bytes(mine[:100])
        assert kind in listed(s)[f"{name}:latest"]["error"]
        fails(kind, "pull the model again", args=["run", name, "hi"], store=s)
        r = glim("show", name, store=s, code=1)
        assert kind in r.text and "1 of 2 parts is not as" in r.said, r
    # A text that is missing matters to run only where run needs it.
    layer = s.layer("license", b"Be good.")
    s.add("unlicensed:latest", layer)
    (s.path / "blobs" / layer["digest"].replace(":", "-")).unlink()
    assert "license" in listed(s)["unlicensed:latest"]["error"]
    assert answer("unlicensed", store=s) == PLAIN
    layer = s.layer("system", b"Be kind.")
    s.add("nosystem:latest", layer)
    (s.path / "blobs" / layer["digest"].replace(":", "-")).unlink()
    fails("system", "missing", args=["run", "nosystem", "hi"], store=s)


@test
def blobs_of_early_stores_are_found():
    s = Store()
    s.add("old:latest", s.layer("model", pathlib.Path(LLAMA).read_bytes(), sep=":"), model=None)
    assert answer("old", store=s) == PLAIN
    # With both, the newer form goes first.
    digest = hashlib.sha256(pathlib.Path(LLAMA).read_bytes()).hexdigest()
    (s.path / "blobs" / f"sha256-{digest}").write_bytes(b"")
    fails("has 0 bytes", args=["run", "old", "hi"], store=s)


# ---- Layers --------------------------------------------------------------------------------------


@test
def digests_are_verified_on_demand():
    s = Store()
    s.add("tiny:latest", s.layer("license", b"MIT License\n\nDo what you like.\n"))
    r = glim("show", "tiny", "--verify", store=s, code=0, quiet=True)
    assert r.text.count("verified") == 3, r
    digest = hashlib.sha256(pathlib.Path(LLAMA).read_bytes()).hexdigest()
    blob = s.path / "blobs" / f"sha256-{digest}"
    data = bytearray(blob.read_bytes())
    data[-1] ^= 1
    blob.write_bytes(data)
    assert "verified" not in glim("show", "tiny", store=s, code=0, quiet=True).text
    r = glim("show", "tiny", "--verify", store=s, code=1)
    other = hashlib.sha256(data).hexdigest()
    assert "wrong bytes" in r.text and other[:12] in r.text and digest[:12] in r.text, r
    d = json.loads(glim("show", "tiny", "--verify", "--json", store=s, code=1).text)
    assert [p["verified"] for p in d["layers"]] == [False, True, True], d


@test
def show_tells_what_a_model_is_made_of():
    s = Store()
    params = {"temperature": 0.25, "top_k": 7, "top_p": 0.5, "min_p": 0.125, "seed": 42, "num_ctx": 64,
              "num_predict": 5, "repeat_penalty": 1.5, "repeat_last_n": -1, "stop": ["<a>", "<b>"],
              "num_gpu": 99, "mirostat": 1, "mirostat_tau": 3,
              "typical_p": 0.75, "presence_penalty": 0.5, "frequency_penalty": -0.5}
    template = "".join(f"{{{{ line {i} }}}}\n" for i in range(30))
    s.add("tiny:latest", s.layer("template", template.encode()), s.layer("system", b"Be \x1b kind."),
          s.layer("params", json.dumps(params).encode()), s.layer("license", b"\n\nMIT License\n\nText.\n"),
          s.layer("license", b"Apache License\n"), s.layer("projector", b"GGUF"),
          s.layer("application/x-other", b"?"), s.layer("template; name=chat", b"second"))
    text = glim("show", "tiny", store=s, code=0, quiet=True).text
    for words in ["llama, ", "F32, context 1024", "temp 0.25, top-k 7, top-p 0.5, min-p 0.125", "seed 42",
                  "ctx-size 64", "n-predict 5", "repeat-penalty 1.5", 'stop "<a>"', "{{ line 7 }}",
                  "without effect: num_gpu, mirostat 1",
                  "typical-p 0.75", "presence-penalty 0.5, frequency-penalty -0.5", "Be ? kind.", "license\n  MIT License\n",
                  "license\n  Apache License\n", "projector", "not known: application/x-other", "second"]:
        assert words in text, (words, text)
    assert "line 9" not in text and "\x1b" not in text, text
    d = json.loads(glim("show", "tiny", "--json", store=s, code=0, quiet=True).text)
    assert [p["kind"] for p in d["layers"]] == ["model", "template", "system", "params", "license",
                                                "license", "projector", "other", "template", "config"]
    assert d["layers"][1]["text"] == template and d["system"] == "Be \x1b kind."
    g = d["generation"]
    assert (g["temp"], g["top_k"], g["top_p"], g["min_p"], g["seed"]) == (0.25, 7, 0.5, 0.125, 42), g
    assert (g["n_ctx"], g["n_predict"], g["repeat_penalty"], g["stop"]) == (64, 5, 1.5, ["<a>", "<b>"]), g
    fails("inspect", args=["show", LLAMA], store=s)
    fails("one model", args=["show", "tiny", "other"], store=s, code=2)


@test
def parameters_of_the_store_stand_below_the_flags():
    s = Store()
    stop = PLAIN[3:5]
    params = {"temperature": 0, "num_predict": 6, "num_ctx": 4096, "stop": [stop], "top_k": 0}
    s.add("tiny:latest", s.layer("params", json.dumps(params).encode()))
    base = ["run", "tiny", "--raw", "the small engine"]
    r = glim(*base, store=s, code=0)
    assert r.text == PLAIN[:PLAIN.index(stop)] and "ended by --stop" in r.said, r
    assert "context of 4096 tokens; it has 1024" in r.said, r
    r = glim(*base, "--stop", "never there", store=s, code=0)
    assert r.text == PLAIN and "cut at -n 6" in r.said, r
    r = glim(*base, "--stop", "never there", "-n", "3", store=s, code=0)
    assert PLAIN.startswith(r.text) and "cut at -n 3" in r.said, r
    r = glim(*base, "--stop", "never there", "-n", "-1", "-c", "24", store=s, code=0)
    assert "the context of 24 tokens is full" in r.said and "has 1024" not in r.said, r
    assert "seed 7" in glim(*base, "--temp", "0.8", "--seed", "7", store=s, code=0).said
    s.add("seeded:latest", s.layer("params", b'{"seed": 11, "temperature": 1.5, "num_predict": 4}'))
    r = glim("run", "seeded", "--raw", "the", store=s, code=0)
    assert "; seed 11;" in r.said, r
    assert glim("run", "seeded", "--raw", "the", store=s, code=0).text == r.text
    want = glim("run", LLAMA, "--raw", "the", "--seed", "11", "--temp", "1.5", "-n", "4", code=0).text
    assert r.text == want


@test
def wrong_parameters_are_named():
    s = Store()
    for i, (text, words) in enumerate([
            ('{"temperature": "hot"}', "'temperature' is a text"), ('{"top_p": 2}', "from 0 to 1"),
            ('{"top_k": 1.5}', "whole"), ('{"stop": 3}', "'stop' is a number"), ('[]', "object"),
            ('{"stop": ["a", 3]}', "'stop'"), ('{"num_ctx": 0}', "'num_ctx' is 0"), ("{", "not JSON"),
            ('{"seed": 1e300}', "'seed'")]):
        s.add(f"m{i}:latest", s.layer("params", text.encode()))
        fails(words, f"m{i}:latest", args=["run", f"m{i}", "--raw", "hi"], store=s)
        assert words in listed(s)[f"m{i}:latest"]["error"]
        assert words in glim("show", f"m{i}", store=s, code=0).text
    s.add("odd:latest", s.layer("params", b'{"num_gpu": 1, "stop": [], "seed": -1, "num_predict": -2}'))
    r = glim("run", "odd", "--raw", "--temp", "0", "-c", "16", "the", store=s, code=0)
    assert "does not know: num_gpu\n" in r.said and "context of 16 tokens is full" in r.said, r


@test
def several_model_layers_are_told_apart():
    s = Store()
    llama = pathlib.Path(LLAMA).read_bytes()
    # The same file under the name of the architecture for pictures.
    clip = llama.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x04\0\0\0\0\0\0\0clip", 1)
    assert clip != llama
    for order, layers in [("first", [llama, clip]), ("last", [clip, llama])]:
        s.add(f"{order}:latest", *[s.layer("model", pad(b)) for b in layers], model=None)
        assert answer(order, store=s) == PLAIN
    s.add("twice:latest", s.layer("model", llama), s.layer("model", pathlib.Path(QWEN).read_bytes()),
          model=None)
    fails("several of its layers", args=["run", "twice", "hi"], store=s)
    s.add("none:latest", s.layer("license", b"x"), model=None)
    fails("no GGUF model", args=["run", "none", "hi"], store=s)
    s.add("adapted:latest", s.layer("adapter", b"GGUF"), s.layer("adapter", b"GGUG"))
    fails("adapter", args=["run", "adapted", "hi"], store=s)
    d = json.loads(glim("show", "adapted", "--json", store=s, code=0).text)
    assert [p["kind"] for p in d["layers"]] == ["model", "adapter", "adapter", "config"]
    s.add("strange:latest", s.layer("model", b"not a model"), model=None)
    assert listed(s)["strange:latest"]["error"]
    s.add("drafted:latest", s.layer("draft", llama[:50]), s.layer("application/x-other", b"?"))
    assert answer("drafted", store=s) == PLAIN


def pad(gguf):
    """Restores the alignment of the tensors' data after the header has lost a byte."""
    if len(gguf) == os.path.getsize(LLAMA):
        return gguf
    # The header's end is padded with zeros: one more, before the data begins.
    d = json.loads(glim("inspect", LLAMA, "--json", code=0).text)
    start = min(t["offset"] for t in d["tensors"]) - 1
    return gguf[:start] + b"\0" + gguf[start:]


@test
def system_and_turns_of_the_store_reach_the_model():
    model = "models/SmolLM2-135M-Instruct.Q4_1.gguf"
    if not os.path.exists(model):
        raise Skip("the demo model is not there (./dev demo fetches it)")
    s = Store()
    turns = [{"role": "user", "content": "Say red."}, {"role": "assistant", "content": "Red."}]
    s.add("chat:latest", s.layer("system", b"Answer with one word."),
          s.layer("messages", json.dumps(turns).encode()), model=model)
    s.add("bare:latest", model=model)

    def run(name, *flags):
        r = glim("run", name, "Say blue.", "--temp", "0", "-n", "4", *flags, store=s, code=0)
        return r.text, int(re.search(r"prompt: (\d+) token", r.said)[1])
    system = run("bare", "--system", "Answer with one word.")
    with_turns, flag = run("chat"), run("chat", "--system", "Be brief.")
    assert with_turns[1] > system[1] + 10, (with_turns, system)
    assert with_turns[1] != flag[1]
    s.add("wrong:latest", s.layer("messages", b'[{"role": "user"}]'), model=model)
    fails("message 1", args=["run", "wrong", "hi"], store=s)


# ---- LeapBundles ---------------------------------------------------------------------------------


@test
def bundles_load_like_models():
    folder = pathlib.Path(tempfile.mkdtemp(dir=FOLDER.name))
    (folder / "leap").mkdir()
    (folder / "parts").mkdir()
    shutil.copy(LLAMA, folder / "parts/model.gguf")
    leap = folder / "leap"
    path = bundle(leap)
    args = ["--raw", "-n", "6", "--quiet", "the small engine"]
    want = glim("run", LLAMA, "--temp", "0", "--min-p", "0.15", "--repeat-penalty", "1.05", *args, code=0).text
    assert glim("run", path, *args, code=0, quiet=True).text == want
    assert glim("run", "b.json", *args, code=0, quiet=True, cwd=leap).text == want
    assert answer(bundle(leap, load_time_parameters={"model": str(folder / "parts/model.gguf")},
                         generation_time_parameters={})) == PLAIN
    path = bundle(leap, load_time_parameters={"model": "../parts/model.gguf",
                                              "chat_template": "{{ messages[0].role[0] }}",
                                              "multimodal_projector": "https://host/mm.gguf"},
                  inference_type="llama.cpp/image-to-text")
    # Its template is used where the file has none, and worth a word where the file has another.
    r = glim("template", path, "--messages", talk("hi"), code=0)
    assert r.text == "u" and "the bundle's template" in r.said, r
    ids = glim("template", path, "--messages", talk("hi"), "--ids", code=0).text.split()
    said = json.loads(glim("run", path, "-n", "2", "hi", "--json", code=0).text)
    assert said["prompt_tokens"] == len(ids) <= 2, (said, ids)
    fails("no template of Ollama's", args=["run", path, "hi", "--template", "ollama"])
    own = saying("bundled.gguf", "word", b"J:{{ messages[0].content }}")
    other = bundle(leap, load_time_parameters={"model": own, "chat_template": "x"})
    r = glim("template", other, "--messages", talk("hi"), code=0)
    assert r.text == "J:hi" and "the bundle's chat template is not the model file's" in r.said, r
    path = bundle(leap, load_time_parameters={"model": "../parts/model.gguf",
                                              "chat_template": "{{ messages[0].role[0] }}",
                                              "multimodal_projector": "https://host/mm.gguf"},
                  inference_type="llama.cpp/image-to-text")
    r = glim("show", path, code=1)
    assert "turns by    the Jinja template in the bundle" in r.text, r
    assert "multimodal_projector" in r.text and "not downloaded" in r.text and "llama" in r.text, r
    d = json.loads(glim("show", path, "--json", code=1).text)
    assert abs(d["generation"]["min_p"] - 0.15) < 1e-6 and d["family"] == "llama", d


@test
def wrong_bundles_say_why():
    folder = tempfile.mkdtemp(dir=FOLDER.name)
    for change, words in [
            ({"load_time_parameters": {"model": "https://host/m.gguf"}}, ["https://host/m.gguf", "download"]),
            ({"load_time_parameters": {}}, ["names no model"]), ({"load_time_parameters": 3}, ["object"]),
            ({"load_time_parameters": {"model": 3}}, ["'model' is not a text"]),
            ({"inference_type": "other/engine"}, ["other/engine"]), ({"inference_type": 4}, ["inference_type"]),
            ({"schema_version": "2.0.0"}, ["schema_version is 2.0.0"]),
            ({"load_time_parameters": {"model": "gone.gguf"}}, ["gone.gguf", "no such file"]),
            ({"generation_time_parameters": {"sampling_parameters": {"min_p": "x"}}}, ["min_p"])]:
        path = bundle(folder, **change)
        fails("b.json", *words, args=["run", path, "hi"])
    path = pathlib.Path(folder, "cut.json")
    path.write_text('{"inference_type": ')
    fails("cut.json", "not JSON", args=["run", str(path), "hi"])
    path.write_text('{"error": "not found"}')
    fails("JSON text", args=["run", str(path), "hi"])


sys.exit(main())
