#!/usr/bin/env python3
"""Tests of the glim program from outside: what it prints where, and its exit codes.

usage: test_tool.py [PROGRAM], from the root of a checkout; prints TAP. Uses the fixtures only.
"""
import json
import math
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import sys
import time

from tool_rig import FOLDER, GLIM, MODEL, SECONDS, fails, floats, glim, golden, made, main, terminal, test

VOCAB = 320  # of that model
COMMANDS = ["run", "chat", "tokenize", "logits", "inspect", "bench"]


# ---- The program ---------------------------------------------------------------------------------


@test
def help_is_short_and_on_stdout():
    r = glim("--help", code=0, quiet=True)
    for c in COMMANDS:
        assert re.search(rf"^  {c} ", r.text, re.M), r
        h = glim(c, "--help", code=0, quiet=True)
        assert h.text.startswith(f"usage: glim {c} ") and f"  glim {c} " in h.text, h
        assert max(map(len, h.text.splitlines())) <= 100 and h.text.count("\n") <= 75, h
        assert glim("help", c, code=0, quiet=True).out == h.out
    assert glim("help", code=0, quiet=True).out == glim("-h", code=0, quiet=True).out == r.out
    assert re.fullmatch(r"glim \d+\.\d+\.\d+\n", glim("--version", code=0, quiet=True).text)


@test
def misuse_is_told_apart():
    r = glim(code=2)
    assert r.out == b"" and r.said.startswith("usage: "), r
    fails(2, "'rum'", "did you mean run?", "glim --help", args=["rum"])
    fails(2, "'--foo'", args=["--foo"])
    fails(2, "'xyzzy'", args=["help", "xyzzy"])
    fails(2, "'--tmp'", "did you mean --temp?", "glim run --help", args=["run", "--tmp", "1"])
    fails(2, "'-x'", args=["run", "-x"])
    fails(2, "--temp needs a value", args=["run", MODEL, "--temp"])
    fails(2, "-n needs a value", args=["run", MODEL, "-n"])
    fails(2, "--raw=1", "takes no value", args=["run", "--raw=1"])
    fails(2, "'foo'", "flags only", args=["devices", "foo"])
    fails(2, "'foo'", "flags only", args=["list", "foo"])
    fails(2, "'foo'", "named already", args=["inspect", MODEL, "foo"])
    fails(2, "--profile", "--device gpu", args=["bench", MODEL, "--device", "cpu", "--profile"])
    assert glim("list", "--help", code=0).text.startswith("usage: glim list\n")
    for c in COMMANDS:
        fails(2, "no model", f"glim {c} --help", args=[c])
        fails(2, "unknown flag '--bogus'", args=[c, "--bogus"])


@test
def bad_numbers_name_flag_value_and_range():
    for flag, value, words in [
            ("--temp", "abc", ["a number from 0 to 1000"]), ("--temp", "-1", []),
            ("--temp", "nan", []), ("--temp", "", []), ("--temp", " 1", []), ("--temp", "1x", []),
            ("--top-p", "1.5", ["from 0 to 1"]), ("--min-p", "inf", []), ("--top-k", "-1", []),
            ("--top-k", "1.5", ["a whole number"]), ("--seed", "-1", []), ("--seed", "x", []),
            ("--seed", "18446744073709551616", []), ("-n", "99999999999", []), ("-n", "-2", []),
            ("-c", "0", []), ("-t", "0", []), ("-t", "400", []), ("--repeat-penalty", "0", []),
            ("--isa", "mmx", ["scalar|avx2|avx512"]), ("--device", "tpu", ["auto|cpu|gpu[:N]"]),
            ("--device", "cpu:1", []), ("--gpu-features", "few", ["all|none"]), ("--device", "gpu:x", []),
            ("--isa", "", []), ("--typical-p", "2", ["from 0 to 1"]), ("--dry-base", "0", ["from 1 to 100"]),
            ("--mirostat", "1", ["none of 0|2"]), ("--logprobs", "101", ["from 0 to 100"]),
            ("--answers", "0", ["from 1 to 1000"]), ("--dry-penalty-last-n", "-2", ["from -1"]),
            ("--presence-penalty", "x", ["from -100 to 100"]), ("--xtc-threshold", "-1", ["from 0 to 1"]),
            ("--top-n-sigma", "-1", ["from 0 to 1000"]), ("--mirostat-ent", "1e9", ["from 0 to 100"]),
            ("--logit-bias", "12", ["-1000 to 1000", "15043+1"]), ("--logit-bias", "5+2000", []),
            ("--logit-bias", "5+inf", []), ("--logit-bias", "x+1", []), ("--logit-bias", "5+", [])]:
        fails(2, f"{flag}: '{value}'", "glim run --help", *words, args=["run", MODEL, "hi", flag, value])
    fails(2, "-n 0", args=["run", MODEL, "hi", "-n", "0"])
    fails(2, "--samplers: 'foo' is none of penalties, dry", args=["run", MODEL, "hi", "--samplers", "top_k;foo"])
    fails(2, "--samplers: 'top_k' is named twice", args=["run", MODEL, "hi", "--samplers", "top_k;top_k"])
    fails(2, "--dry-sequence-breaker", "empty", args=["run", MODEL, "hi", "--dry-sequence-breaker", ""])
    fails(1, "logit_bias: token 900000", "ids 0 to", args=["run", MODEL, "--raw", "hi", "--logit-bias", "900000+1"])
    glim("run", MODEL, "--raw", "hi", "-n", "1", "--seed", "18446744073709551615", code=0)


@test
def bad_files_are_named_with_the_reason():
    empty, text = made("empty.gguf", b""), made("page.gguf", b"<!doctype html><p>404")
    data = pathlib.Path(MODEL).read_bytes()
    half, stub = made("half.gguf", data[:len(data) // 2]), made("stub.gguf", data[:20])
    strange = made("strange.gguf", data.replace(b"llama", b"lxama").replace(b"lxama-bpe", b"llama-bpe"))
    wrong = made("wrong.gguf", data.replace(b"blk.1.attn_q.weight", b"blk.1.attn_x.weight"))
    for path, words in [
            (FOLDER.name + "/none.gguf", ["no such file", "half.gguf"]),
            (FOLDER.name + "/none/none.gguf", ["no such file"]), (FOLDER.name, ["is a directory"]),
            (empty, ["empty"]), (text, ["web page"]), (half, ["interrupted download?"]),
            (stub, ["interrupted download?"]), ("/dev/null", ["not a regular file"])]:
        for c in COMMANDS:
            more = {"run": ["hi"], "logits": ["--ids", "1"], "tokenize": ["hi"]}.get(c, [])
            fails(1, path, *words, args=[c, "-m", path, *more])
    for c in ["run", "chat", "logits", "bench"]:
        more = {"run": ["hi"], "logits": ["--ids", "1"]}.get(c, [])
        fails(1, strange, "'lxama' is not supported", args=[c, "-m", strange, *more])
        fails(1, wrong, "blk.1.attn_q.weight", args=[c, "-m", wrong, *more])
    # What needs only the metadata works all the same.
    assert "no plan" in glim("inspect", strange, code=0, quiet=True).text
    assert glim("tokenize", "-m", strange, "hi", code=0, quiet=True).out


@test
def unwritable_stdout_is_a_failure():
    commands = [["--help"], ["run", "--help"], ["--version"], ["run", MODEL, "--raw", "-n", "3", "hi"],
                ["tokenize", "-m", MODEL, "hi"], ["logits", MODEL, "--ids", "1", "--raw"],
                ["inspect", MODEL], ["inspect", MODEL, "--json"], ["bench", MODEL, "-p2", "-n2", "-r1"]]
    for args in commands:
        if os.path.exists("/dev/full"):
            with open("/dev/full", "wb") as full:
                r = glim(*args, stdout=full, code=1)
            assert r.said.count("\n") == 1 and "cannot write to standard output" in r.said, r


@test
def broken_pipe_ends_quietly():
    for ignored in [False, True]:
        r, w = os.pipe()
        os.close(r)
        with os.fdopen(w, "wb") as out:
            got = glim("run", MODEL, "--raw", "--quiet", "-n", "50", "hi", stdout=out,
                       preexec_fn=lambda: signal.signal(
                           signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL))
        assert got.code == (1 if ignored else -signal.SIGPIPE) and got.said == "", got


# ---- run -----------------------------------------------------------------------------------------


@test
def several_answers_are_those_of_the_seeds_that_follow():
    base = ["run", MODEL, "--raw", "The wind", "-n", "9", "--temp", "1.5"]
    r = glim(*base, "--seed", "5", "--answers", "3", code=0)
    single = [glim(*base, "--seed", str(s), code=0).out.rstrip(b"\n") for s in (5, 6, 7)]
    assert r.out.rstrip(b"\n") == b"\n\n".join(single), (r, single)
    assert [f"; seed {s};" in r.said for s in (5, 6, 7, 8)] == [True, True, True, False], r


@test
def log_probabilities_follow_the_answer():
    base = ["run", MODEL, "--raw", "The wind", "-n", "6", "--seed", "5"]
    r = glim(*base, "--logprobs", "3", code=0)
    answer, table = r.text[:-1].rsplit("\n\n", 1)
    assert answer.rstrip("\n") == glim(*base, code=0).text.rstrip("\n"), r
    for line in table.split("\n"):
        cells = line.split("\t")
        assert len(cells) == 5 and float(cells[0]) <= 0 and cells[1][0] == cells[1][-1] == '"', line
        tops = [float(c.split(" ", 1)[0]) for c in cells[2:]]
        assert tops == sorted(tops, reverse=True) and float(cells[0]) <= tops[0], line


@test
def samplers_reach_the_session():
    base = ["run", MODEL, "--raw", "The wind", "-n", "8", "--seed", "5", "--temp", "2"]
    plain = glim(*base, code=0).out
    greedy = glim(*base, "--temp", "0", code=0).out
    for flags in [["--samplers", "top_k", "--top-k", "1"], ["--mirostat", "2", "--mirostat-ent", "0"],
                  ["--top-n-sigma", "0.001"], ["--typical-p", "1", "--min-p", "1"]]:
        assert glim(*base, *flags, code=0).out == greedy, flags
    for flags in [["--xtc-probability", "1", "--xtc-threshold", "0.001"], ["--typical-p", "0.05"],
                  ["--samplers", "temperature", "--seed", "6"], ["--presence-penalty", "50"],
                  ["--frequency-penalty", "50"], ["--mirostat", "2", "--mirostat-ent", "9"]]:
        assert glim(*base, *flags, code=0).out != greedy, flags
    assert plain == glim(*base, "--dry-multiplier", "0", "--min-keep", "1", code=0).out


def byte_texts():
    """What each token of the model adds to an answer, from what inspect says of its vocabulary."""
    meta = json.loads(glim("inspect", MODEL, "--json", code=0).text)["metadata"]
    tokens, kinds = (meta[f"tokenizer.ggml.{k}"]["value"] for k in ["tokens", "token_type"])
    # GPT-2's table: bytes that do not print stand from 256 on, in order.
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(b): b for b in plain}
    table.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in plain)})
    # Control tokens are not part of an answer.
    return [bytes(table[c] for c in t) if kind == 1 else b"" for t, kind in zip(tokens, kinds)]


def tokenized(text, *flags):
    out = glim("tokenize", "-m", MODEL, *flags, stdin=text.encode(), code=0, quiet=True).text
    assert re.fullmatch(r"(\d+( \d+)*)?\n", out), out
    return [int(x) for x in out.split()]


@test
def run_says_what_the_logits_say():
    n = 6
    ids = tokenized("the small engine")
    texts, answer = byte_texts(), b""
    for _ in range(n):
        row = floats(glim("logits", MODEL, "--raw", "--ids", " ".join(map(str, ids)), code=0).out)
        ids.append(max(range(VOCAB), key=row.__getitem__))
        answer += texts[ids[-1]]
    r = glim("run", MODEL, "--raw", "--exact", "--temp", "0", "-n", str(n), "the small engine", code=0)
    assert r.text == answer.decode("utf-8", "replace"), (r.out, answer)


@test
def run_keeps_results_and_talk_apart():
    base = ["run", MODEL, "--raw", "--temp", "0", "-n", "6"]
    r = glim(*base, "the small engine", code=0)
    assert r.out and re.fullmatch(r"\[prompt: \d+ tokens, [\d.]+ tokens/s; answer: 6 tokens, "
                                  r"[\d.]+ tokens/s; cut at -n 6\]\n", r.said), r
    assert glim(*base, "--quiet", "the small engine", code=0, quiet=True).out == r.out
    # The same prompt in all the ways in which it may come.
    for args, stdin in [(["the", "small", "engine"], b""), (["-p", "the small engine"], b""),
                        (["--", "the", "small", "engine"], None), ([], b"the small engine")]:
        assert glim(*base, *args, stdin=stdin, code=0).out == r.out
    assert glim("run", "-m", MODEL, *base[2:], "the small engine", code=0).out == r.out
    both = glim(*base, "-p", "the", stdin=b"small", code=0)
    assert both.out == glim(*base, stdin=b"the\n\nsmall", code=0).out != r.out
    fails(2, "no prompt", args=["run", MODEL, "--raw"], stdin=None)
    fails(2, "another", args=["run", MODEL, "-p", "a", "b"])
    fails(2, "-n: 'x'", args=["run", MODEL, "--stop", "a", "--stop", "b", "-n", "x"])


@test
def run_repeats_with_a_seed():
    base = ["run", MODEL, "--raw", "-n", "12", "--temp", "1.5", "the"]
    a = glim(*base, "--seed", "7", code=0)
    assert "; seed 7;" in a.said, a
    assert glim(*base, "--seed", "7", code=0).out == a.out
    assert any(glim(*base, "--seed", str(s), code=0).out != a.out for s in range(8, 12))
    drawn = glim(*base, code=0)
    seed = re.search(r"; seed (\d+)[;\]]", drawn.said)[1]  # an answer may end by itself
    assert glim(*base, "--seed", seed, code=0).out == drawn.out


@test
def run_ends_for_the_reasons_it_gives():
    base = ["run", MODEL, "--raw", "--temp", "0", "the small engine"]
    full = glim(*base, "-c", "24", code=0)
    assert "the context of 24 tokens is full" in full.said, full
    stop = full.text[4:6]
    cut = glim(*base, "-c", "24", "--stop", "never there", "--stop", stop, code=0)
    assert cut.text == full.text[:full.text.index(stop)] and "ended by --stop" in cut.said, cut
    fails(1, "do not fit in the context of 6", "-c, at most 1024", args=[*base, "-c", "6"])
    fails(1, "trained for no more", args=base[:-1], stdin=b"a b " * 600)
    fails(1, "1025", "at most 1024", args=[*base, "-c", "1025"])


@test
def run_needs_a_known_chat_format():
    fails(1, "chat template", "--raw", args=["run", MODEL, "hi"])
    fails(1, "zero byte", args=["run", MODEL], stdin=b"a\0b")
    fails(1, "empty", args=["run", MODEL], stdin=b"\n")
    fails(2, "--raw", args=["run", MODEL, "--special", "hi"])
    fails(2, "--system", args=["run", MODEL, "--raw", "--system", "x", "hi"])


@test
def interrupt_ends_the_answer():
    for wait in [0.3, 1, 3, 9]:
        r, w = os.pipe()
        # The fixture answers faster than anyone can interrupt it: a full pipe holds it up.
        os.set_blocking(w, False)
        try:
            while os.write(w, bytes(4096)):
                pass
        except BlockingIOError:
            os.set_blocking(w, True)
        p = subprocess.Popen([GLIM, "run", MODEL, "--raw", "--temp", "0", "the"], stdout=w,
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.close(w)
        time.sleep(wait)
        p.send_signal(signal.SIGINT)
        with os.fdopen(r, "rb") as f:
            f.read()
        said = p.communicate(timeout=SECONDS)[1].decode()
        if p.returncode != -signal.SIGINT:  # that was before it listened: wait longer
            break
    assert p.returncode == 130 and said.endswith("; interrupted]\n"), (p.returncode, said)


@test
def terminal_gets_no_control_characters():
    args = ["run", MODEL, "--raw", "--temp", "3", "--seed", "1", "-n", "300", "hi"]
    parent, child = terminal()
    p = subprocess.Popen([GLIM, *args], stdin=subprocess.DEVNULL, stdout=child,
                         stderr=subprocess.PIPE)
    os.close(child)
    out = b""
    while select.select([parent], [], [], SECONDS)[0]:
        try:
            more = os.read(parent, 4096)
        except OSError:  # how Linux reports that the other side is closed
            break
        if not more:
            break
        out += more
    p.communicate(timeout=SECONDS)
    os.close(parent)
    control = rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
    assert re.search(control, glim(*args, code=0).out), "the sample has nothing to filter"
    assert len(out) > 50 and not re.search(control, out), out
    assert out.endswith(b"\n")


# ---- tokenize ------------------------------------------------------------------------------------


@test
def tokenize_gives_the_reference_ids():
    lines = pathlib.Path("test/data/llama.tokens").read_text().splitlines()
    cases = [line.split(" ") for line in lines if line.startswith("special")]
    assert len(cases) == 10
    for _, text, *ids in cases:
        text = b"" if text == "-" else bytes.fromhex(text)
        want = " ".join(ids) + "\n"
        assert glim("tokenize", "-m", MODEL, stdin=text, code=0, quiet=True).text == want
        if text:
            assert glim("tokenize", "-m", MODEL, "--", text, code=0, quiet=True).text == want
        pieces = glim("tokenize", "-m", MODEL, "--pieces", stdin=text, code=0, quiet=True).text
        rows = [row.split("\t") for row in pieces.splitlines()]
        assert [row[0] for row in rows] == ids
        # The pieces, taken out of their quotes, are the text behind the beginning.
        bare = "".join(row[1][1:-1] for row in rows[1:]).encode()
        back = re.sub(rb"\\(x..|.)", unescape, bare)
        assert back == text, (back, text)


def unescape(m):
    c = m[1]
    return bytes.fromhex(c[1:].decode()) if c[:1] == b"x" else \
        {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(c, c)


@test
def tokenize_takes_text_as_it_is():
    assert tokenized("a\nb") != tokenized("a\\nb")
    assert len(tokenized("a\n")) == len(tokenized("a")) + 1
    name = "<|end_of_text|>"
    assert tokenized(name) == [0, 1]
    assert len(tokenized(name, "--no-special")) > 5
    assert tokenized("", "--no-special") == [] and tokenized("") == [0]
    fails(2, "quotes", args=["tokenize", "-m", MODEL, "a", "b"])
    assert "\\x1b" in glim("tokenize", "-m", MODEL, "--pieces", "\x1b", code=0).text


# ---- logits --------------------------------------------------------------------------------------


@test
def logits_are_the_reference_ones():
    data, _ = golden("test/data/llama.golden.gguf", "tokens")
    ids = " ".join(map(str, struct.unpack("<48i", data)))
    want = floats(golden("test/data/llama.golden.gguf", "logits")[0])
    assert len(want) == 48 * VOCAB
    file = made("ids", ids.replace(" ", ",\n").encode())
    last = want[-VOCAB:]
    for flags, stdin, expected in [
            (["--ids", ids, "--all"], b"", want), (["--ids-file", file, "--all", "-b", "7"], b"", want),
            (["--ids-file", "-", "--all", "-t", "2"], ids.encode(), want), (["--ids", ids], b"", last),
            (["--ids", ids, "-b", "7", "--isa", "scalar"], b"", last)]:
        r = glim("logits", "-m", MODEL, "--raw", *flags, stdin=stdin, code=0, quiet=True)
        assert len(r.out) == 4 * len(expected), len(r.out)
        worst = max(abs(a - b) for a, b in zip(floats(r.out), expected))
        assert worst < 1e-4, (flags, worst)
    fast = floats(glim("logits", MODEL, "--raw", "--fast", "--ids", ids, code=0, quiet=True).out)
    assert fast != last and max(abs(a - b) for a, b in zip(fast, last)) < 0.5


@test
def logits_shows_the_likeliest():
    r = glim("logits", MODEL, "--text", "hello world", code=0, quiet=True)
    ids = tokenized("hello world")
    raw = floats(glim("logits", MODEL, "--ids", ",".join(map(str, ids)), "--raw", code=0).out)
    order = sorted(range(VOCAB), key=lambda i: -raw[i])
    total = sum(math.exp(v) for v in raw)
    rows = [line.split(None, 3) for line in r.text.splitlines()[2:]]
    assert [int(row[0]) for row in rows] == order[:10], r
    for row, i in zip(rows, order):
        assert abs(float(row[1]) - raw[i]) < 1e-4
        assert abs(float(row[2]) - math.exp(raw[i]) / total) < 1e-5
        assert re.fullmatch(r'".+"', row[3]), row
    blocks = glim("logits", MODEL, "--text", "hello world", "--all", code=0, quiet=True).text
    assert blocks.count("after token ") == len(ids) and blocks.endswith(r.text)


@test
def logits_refuses_what_is_no_id():
    for ids in ["1 x", "-1", "1.5", "0x10", "99999999999", "", " , "]:
        fails(2, "glim logits --help", args=["logits", MODEL, "--ids", ids])
    fails(1, "320", "0 to 319", args=["logits", MODEL, "--ids", "1 320"])
    fails(1, "trained for at most 1024", args=["logits", MODEL, "--ids", "1 " * 1025])
    fails(2, "one of", args=["logits", MODEL])
    fails(2, "one of", args=["logits", MODEL, "--ids", "1", "--text", "a"])
    fails(1, "cannot open", args=["logits", MODEL, "--ids-file", FOLDER.name + "/none"])


# ---- inspect -------------------------------------------------------------------------------------


@test
def inspect_tells_all_as_json():
    d = json.loads(glim("inspect", "-m", MODEL, "--json", code=0, quiet=True).text)
    assert (d["version"], d["architecture"], d["parts"]) == (3, "llama", 1)
    assert d["file_bytes"] == os.path.getsize(MODEL)
    meta = d["metadata"]
    assert meta["llama.context_length"] == {"type": "u32", "array": False, "value": 1024}
    assert len(meta["tokenizer.ggml.tokens"]["value"]) == VOCAB
    tensors = {t["name"]: t for t in d["tensors"]}
    assert tensors["token_embd.weight"]["shape"] == [64, VOCAB]
    assert sum(t["bytes"] for t in d["tensors"]) == d["tensor_bytes"]
    assert sum(math.prod(t["shape"]) for t in d["tensors"]) == d["parameters"]
    assert sum(t["tensors"] for t in d["types"].values()) == len(tensors)
    for t in d["tensors"]:
        assert t["offset"] + t["bytes"] <= d["file_bytes"]
    data = pathlib.Path(MODEL).read_bytes()
    first = golden(MODEL, "token_embd.weight")[0]
    at = tensors["token_embd.weight"]["offset"]
    assert data[at:at + len(first)] == first
    assert d["plan_error"] is None


@test
def inspect_plans_memory():
    def plan(*flags):
        p = json.loads(glim("inspect", MODEL, "--json", *flags, code=0).text)["plan"]
        assert p["total"] == p["weights"] + p["kv"] + p["activations"]
        return p
    whole, half, exact = plan(), plan("-c", "512"), plan("-c", "512", "--exact")
    assert (whole["n_ctx"], half["n_ctx"]) == (1024, 512)
    assert whole["kv"] == 2 * half["kv"] and exact["kv"] == 2 * half["kv"]
    too_long = json.loads(glim("inspect", MODEL, "--json", "-c", "4096", code=0).text)
    assert too_long["plan"] is None and "at most 1024" in too_long["plan_error"]


@test
def inspect_makes_any_text_safe():
    data = pathlib.Path(MODEL).read_bytes()
    at = data.index(b"general.name") + len(b"general.name") + 4
    n, = struct.unpack_from("<Q", data, at)
    text = b"\x1b\xff\x00" + "é".encode()
    assert n >= len(text)
    path = made("name.gguf", data[:at + 8] + text + data[at + 8 + len(text):])
    d = json.loads(glim("inspect", path, "--json", code=0, quiet=True).out.decode("utf-8"))
    assert d["metadata"]["general.name"]["value"].startswith("\x1b\ufffd\x00é"), d["metadata"]
    shown = glim("inspect", path, code=0, quiet=True).text
    assert '"\\x1b\\xff\\x00é' in shown and "\x1b" not in shown


@test
def inspect_is_readable():
    text = glim("inspect", MODEL, code=0, quiet=True).text
    for words in ["architecture: llama", "metadata: ", "str[320]", "tensors: ", "blk.1.ffn_up.weight",
                  "memory for a context of 1024 tokens", "KV cache", "total"]:
        assert words in text, text
    assert max(map(len, text.splitlines())) < 160


# ---- bench ---------------------------------------------------------------------------------------


@test
def bench_measures_a_right_run():
    def bench(*flags):
        r = glim("bench", "-m", MODEL, "-p", "33", "-n", "9", "-r", "2", "--json", *flags, code=0,
                 quiet=True)
        return json.loads(r.text)
    one, two, exact = bench("-t", "1"), bench("-t", "2"), bench("-t", "1", "--exact")
    for d in [one, two, exact]:
        for key in ["prefill_tok_s", "decode_tok_s", "load_s", "peak_rss_bytes", "bytes_per_token",
                    "roof_gb_s", "roof_share", "decode_gb_s"]:
            assert d[key] > 0, (key, d)
        assert d["model"] == MODEL and d["device"].startswith("cpu ("), d
        assert d["driver"] is None and d["dispatches_per_token"] is None, d
        assert len(d["decode_tok_s_runs"]) == d["reps"] == 2
        assert re.fullmatch("[0-9a-f]{16}", d["hash"])
    assert (one["threads"], two["threads"]) == (1, 2)
    assert one["hash"] == two["hash"]
    weights = json.loads(glim("inspect", MODEL, "--json").text)["tensor_bytes"]
    assert one["bytes_per_token"] <= weights < one["peak_rss_bytes"] < 1 << 30
    table = glim("bench", MODEL, "-p", "8", "-n", "4", "-r", "1", "-t", "1", code=0, quiet=True).text
    for row in ["model", "device", "prefill", "decode", "reads", "load", "memory", "ids hash"]:
        assert re.search(f"^{row} ", table, re.M), table
    fails(1, "1024", args=["bench", MODEL, "-p", "1000", "-n", "25"])
    fails(2, "-p: '0'", args=["bench", MODEL, "-p", "0"])


sys.exit(main())
