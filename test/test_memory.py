#!/usr/bin/env python3
"""Memory that the glim program takes, against what it says beforehand.

usage: test_memory.py [PROGRAM], from the root of a checkout; prints TAP. Random models of real shapes
are made by build/release/test/make_model and thrown away.
"""
import json
import os
import shutil
import subprocess
import sys

from tool_rig import FOLDER, GLIM, Skip, glim, main, test

MAKER = "build/release/test/make_model"
E2B = "models/rand/gemma4-e2b.Q4_K_M.gguf"  # full size: present where somebody made it
MIB = 1 << 20


def random_model(preset, kind, *layers):
    path = os.path.join(FOLDER.name, f"{preset}.{kind}.gguf")
    if not os.path.exists(path):
        subprocess.run([MAKER, preset, kind, path, *layers], check=True, timeout=300)
    return path


def small_e2b():
    """A gigabyte: what any process takes (some 10 MB) must be little beside it."""
    if shutil.disk_usage(FOLDER.name).free < 2 << 30:
        raise Skip("less than 2 GB free for a model")
    return random_model("gemma4-e2b", "Q4_K_M", "10")


def plan(path, *flags):
    args = ["inspect", path, "--json", "--device", "cpu", *flags]
    return json.loads(glim(*args, code=0, quiet=True).text)["plan"]


def peak(*args):
    """The most memory that a run of glim had, in bytes (VmHWM)."""
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1):  # what it says of errors is shown
                os.dup2(null, fd)
            os.execv(GLIM, [GLIM, *args])
        finally:
            os._exit(127)
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, f"glim {' '.join(args)}: status {status}"
    return usage.ru_maxrss * 1024  # KiB on Linux


def compare(path, n_tokens, *args, flags=()):
    """A run that fills its context against the plan for it."""
    p = plan(path, "-c", str(n_tokens), *flags)
    took = peak(*args, "--device", "cpu")
    print(f"# {args[0]} {os.path.basename(path)}: planned {p['total'] / MIB:.0f} MiB (and "
          f"{p['tables'] / MIB:.0f} in tables), took {took / MIB:.0f} ({took / p['total'] - 1:+.1%})")
    assert abs(took / p["total"] - 1) < 0.1, (took, p)
    return p


def not_sanitized():
    if "san" in GLIM:
        raise Skip("a sanitizer takes memory of its own")


@test
def e2b_takes_what_was_planned():
    not_sanitized()
    path = small_e2b()
    # 1,536 rows: were they kept, each with its neighbours in the file, they alone would be 16 %.
    p = compare(path, 1544, "bench", path, "-p", "1536", "-n", "8", "-r", "1")
    assert p["tables"] > 0.5 * p["weights"], "the test would not see the table in memory"
    assert p["total"] == p["weights"] + p["kv"] + p["activations"]
    ids = " ".join(str(i * 2657 % 262144) for i in range(200))
    compare(path, 200, "logits", path, "--ids", ids, flags=["--exact"])


def software_gpu():
    """One whose memory is the process's."""
    for g in json.loads(glim("devices", "--json", code=0, quiet=True).text)["gpus"]:
        if g["software"]:
            return g["device"]
    raise Skip("no software GPU")


@test
def a_gpu_takes_what_was_planned():
    not_sanitized()
    gpu, path, took = software_gpu(), small_e2b(), {}
    for tables in ["device", "file"]:
        where = ["--device", gpu, "--tables", tables]
        p = plan(path, "-c", "4", *where)
        took[tables] = peak("logits", path, "--ids", "1 5000 262143 77", "--fast", *where)
        print(f"# tables {tables}: planned {p['total'] / MIB:.0f} MiB, took {took[tables] / MIB:.0f}")
        # Driver, compiler, staging and mapped pages together.
        assert p["total"] < took[tables] < p["total"] + 256 * MIB, (took, p)
    assert took["device"] - took["file"] > 0.9 * p["tables"], (took, p)


@test
def full_e2b_takes_what_was_planned():
    not_sanitized()
    if not os.path.exists(E2B):
        raise Skip(f"no {E2B}; {MAKER} gemma4-e2b Q4_K_M makes it")
    compare(E2B, 1544, "bench", E2B, "-p", "1536", "-n", "8", "-r", "1")


@test
def the_table_is_told_apart():
    path = random_model("gemma4-e2b-thin", "Q8_0")
    p = plan(path)
    table = 512 * 35 * 32 * 34 // 32  # V, P layers, in Q8_0
    assert p["tables"] == table, p
    text = glim("inspect", path, "--device", "cpu", code=0, quiet=True).text
    assert "tables" in text and "rows read as tokens need them" in text, text
    tensors = json.loads(glim("inspect", path, "--json", code=0).text)["tensor_bytes"]
    assert p["weights"] == tensors - table
    assert "tables" not in glim("inspect", "test/data/llama.gguf", code=0).text  # it is tied


@test
def cache_of_e2b_stays_small():
    """Of 35 layers 15 own a cache: 3 global ones of the context, 12 that go round a ring of the
    window, a pass and a page."""
    for path in [random_model("gemma4-e2b-thin", "Q8_0"), E2B]:
        if not os.path.exists(path):
            continue
        p = plan(path, "-c", "8192")
        ring = (512 + 512) + 64
        assert p["kv"] == 2 * 2 * (3 * 8192 * 512 + 12 * ring * 256), p
        assert p["kv"] < 80 * MIB, p
        whole = plan(path, "-c", "131072")  # to the model's own limit
        assert whole["kv"] == 2 * 2 * (3 * 131072 * 512 + 12 * ring * 256), whole


@test
def shortened_models_work():
    for layers in ["1", "4", "5", "6", "9", "10"]:
        path = os.path.join(FOLDER.name, "short.gguf")
        subprocess.run([MAKER, "gemma4-e2b-thin", "Q4_0", path, layers], check=True, timeout=60)
        glim("logits", path, "--ids", "1 2 3", code=0, quiet=True)


sys.exit(main())
