"""What the tests of the glim program share: running it, reading fixtures, TAP."""
import array
import math
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import traceback

GLIM = sys.argv[1] if len(sys.argv) > 1 else "build/glim"
MODEL = "test/data/llama.gguf"
SECONDS = 60

tests = []


def test(function):
    tests.append(function)
    return function


class Result:
    def __init__(self, args, done):
        self.args, self.code, self.out, self.err = args, done.returncode, done.stdout, done.stderr
        self.text, self.said = self.out.decode("utf-8", "replace"), self.err.decode()

    def __str__(self):
        return f"glim {' '.join(self.args)}\n  code {self.code}\n  out {self.out[:400]}\n  err {self.said}"


def checked(args, done, code, quiet):
    """The result of a run, if its exit status is code (None: any); quiet: and nothing on stderr."""
    done.stdout = done.stdout or b""
    r = Result(args, done)
    if code is not None:
        assert r.code == code, f"expected exit status {code}\n{r}"
    if quiet:
        assert r.said == "", f"expected nothing on stderr\n{r}"
    return r


def glim(*args, stdin=b"", stdout=subprocess.PIPE, code=None, quiet=False, **options):
    """Runs it with stdin (None: /dev/null); code: what the exit status must be; quiet: nothing may
    be on stderr."""
    give = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    done = subprocess.run([GLIM, *args], **give, stdout=stdout, stderr=subprocess.PIPE,
                          timeout=SECONDS, **options)
    return checked(args, done, code, quiet)


def an_error(r, words):
    assert r.out == b"", f"an error leaves stdout alone\n{r}"
    assert re.fullmatch(r"glim: [^\n]+\n", r.said), f"an error is one line\n{r}"
    for w in words:
        assert w in r.said, f"the error does not say '{w}'\n{r}"
    return r


def fails(code, *words, args, **options):
    """An error: this status, nothing on stdout, one line on stderr that has all words."""
    return an_error(glim(*args, code=code, **options), words)


# ---- Fixtures ------------------------------------------------------------------------------------

GGUF_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def golden(name, want):
    """The bytes of one tensor of a GGUF file and its dimensions."""
    b, at = pathlib.Path(name).read_bytes(), 24
    n_tensors, n_kv = struct.unpack_from("<QQ", b, 8)
    alignment = 32

    def text(at):
        n, = struct.unpack_from("<Q", b, at)
        return b[at + 8:at + 8 + n].decode(), at + 8 + n

    def skip(at, kind):
        if kind == 8:
            return text(at)[1]
        if kind != 9:
            return at + GGUF_SIZES[kind]
        item, n = struct.unpack_from("<IQ", b, at)
        at += 12
        for _ in range(n):
            at = skip(at, item)
        return at

    for _ in range(n_kv):
        key, at = text(at)
        kind, = struct.unpack_from("<I", b, at)
        if key == "general.alignment":
            alignment, = struct.unpack_from("<I", b, at + 4)
        at = skip(at + 4, kind)
    found = None
    for _ in range(n_tensors):
        key, at = text(at)
        n, = struct.unpack_from("<I", b, at)
        dims = struct.unpack_from(f"<{n}Q", b, at + 4)
        kind, offset = struct.unpack_from("<IQ", b, at + 4 + 8 * n)
        at += 16 + 8 * n
        if key == want:
            found = dims, offset
    dims, offset = found
    start = -(-at // alignment) * alignment + offset
    return b[start:start + 4 * math.prod(dims)], dims


def floats(data):
    a = array.array("f", data)
    if sys.byteorder == "big":
        a.byteswap()
    return a


FOLDER = tempfile.TemporaryDirectory()


def made(name, data):
    path = os.path.join(FOLDER.name, name)
    pathlib.Path(path).write_bytes(data)
    return path


SAID = 3  # the token that saying() renames


def text(s):
    return struct.pack("<Q", len(s)) + s


ADDED, CONTROL = 4, 3  # kinds of tokens


def templated(name, template, renames, kinds={}):
    """The fixture with a chat template: one key more, tokens renamed and of other kinds; the tensors
    begin where the longer head ends."""
    data = pathlib.Path(MODEL).read_bytes()
    end = data.rindex(b".weight") + len(b".weight")  # of the last tensor's name
    dims, = struct.unpack_from("<I", data, end)
    end += 4 + 8 * dims + 4 + 8
    body = data[-(-end // 32) * 32:]
    n_kv, = struct.unpack_from("<Q", data, 16)
    head = data[24:end]
    first = head.index(b"tokenizer.ggml.token_type") + len(b"tokenizer.ggml.token_type") + 16
    for id, kind in kinds.items():
        at = first + 4 * id
        head = head[:at] + struct.pack("<i", kind) + head[at + 4:]
    for old, new in renames.items():
        assert head.count(text(old)) == 1
        head = head.replace(text(old), text(new))
    key = text(b"tokenizer.chat_template") + struct.pack("<I", 8) + text(template)
    head = data[:16] + struct.pack("<Q", n_kv + 1) + key + head
    return made(name, head + bytes(-len(head) % 32) + body)


def saying(name, words, template, kind=ADDED):
    """A model with a chat template that says these words with FLAGS, and nothing else."""
    return templated(name, template, {b"<|start_header_id|>": b"<|im_start|>", b"<|eot_id|>": b"<|im_end|>",
                                      b"<|end_header_id|>": words.encode()}, {SAID: kind})


FLAGS = ["--temp", "0", "--exact", "--logit-bias", f"{SAID}+1000", "-n", "1"]


class Skip(Exception):
    """What a test needs is not here."""


def terminal():
    """A pseudo-terminal's two ends; a bare root may have none."""
    try:
        return pty.openpty()
    except OSError as e:
        raise Skip(f"no terminal to be had: {e}") from e


def main():
    print(f"1..{len(tests)}")
    failed = 0
    for i, t in enumerate(tests, 1):
        try:
            try:
                why = t()  # a reason to skip it, or nothing
            except Skip as e:
                why = str(e)
            print(f"ok {i}{f' # SKIP' if why else ''} - {t.__name__}{f': {why}' if why else ''}", flush=True)
        except Exception:  # a test that breaks has failed; the others still run
            failed += 1
            print(f"not ok {i} - {t.__name__}")
            print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), flush=True)
    return 1 if failed else 0
