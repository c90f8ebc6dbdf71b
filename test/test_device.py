#!/usr/bin/env python3
"""Tests of the glim program on a GPU, from outside. Skips them where there is none.

usage: test_device.py [PROGRAM], from the root of a checkout; prints TAP. Uses the fixtures only.
"""
import json
import os
import re
import struct
import sys

from tool_rig import MODEL, Skip, fails, floats, glim, golden, main, test

PROMPT = "hello world, this is"


def gpus():
    found = json.loads(glim("devices", "--json", code=0, quiet=True).text)
    if not found["gpus"]:
        raise Skip(found["error"] or "no GPU")
    return found["gpus"]


@test
def devices_are_listed():
    listed = gpus()
    text = glim("devices", code=0, quiet=True).text
    assert text.startswith("cpu    cpu ("), text
    for i, g in enumerate(listed):
        assert g["device"] == f"gpu:{i}" and f"gpu:{i}  {g['name']}" in text, text
        assert f"driver {g['driver']}, {g['backend']}" in text, text
        assert g["limits"]["binding_bytes"] >= 128 << 20 and g["limits"]["storage_buffers"] >= 8, g
    fails(1, f"there is no gpu:{len(listed)}", f"is gpu:{len(listed) - 1}", "glim devices",
          args=["run", MODEL, "hello", "--device", f"gpu:{len(listed)}"])


@test
def without_a_library_the_cpu_works():
    env = {**os.environ, "GLIM_WEBGPU": "/nonexistent/lib.so"}
    fails(1, "/nonexistent/lib.so", args=["run", MODEL, "hello", "--device", "gpu"], env=env)
    r = glim("devices", code=0, env=env)
    assert r.text.startswith("cpu ") and "/nonexistent/lib.so" in r.said, r
    glim("run", MODEL, "hello", "--raw", "-n", "1", "--device", "cpu", code=0, env=env)


@test
def answers_are_those_of_the_cpu():
    gpus()
    for flags in [["--temp", "0"], ["--temp", "0.9", "--seed", "4"], ["--seed", "5", "--repeat-penalty", "1.2"]]:
        args = ["run", MODEL, PROMPT, "--raw", "--exact", "-n", "30", *flags]
        cpu, gpu = (glim(*args, "--device", d, code=0).out for d in ["cpu", "gpu"])
        assert cpu == gpu and len(cpu) > 20, (flags, cpu, gpu)


@test
def logits_are_the_reference_ones():
    gpus()
    data, _ = golden("test/data/llama.golden.gguf", "tokens")
    ids = " ".join(map(str, struct.unpack("<48i", data)))
    want = floats(golden("test/data/llama.golden.gguf", "logits")[0])
    r = glim("logits", MODEL, "--raw", "--all", "--ids", ids, "--device", "gpu", code=0, quiet=True)
    worst = max(abs(a - b) for a, b in zip(floats(r.out), want, strict=True))
    assert worst < 1e-3, worst


E2B = "test/data/gemma4-e2b.gguf"


@test
def tables_stay_in_the_file_when_asked():
    gpus()
    ids = ["--ids", " ".join(str(i * 7 % 300) for i in range(40)), "--raw", "--all"]
    for arithmetic in [[], ["--fast"]]:
        args = ["logits", E2B, *ids, *arithmetic, "--device", "gpu", "--tables"]
        there, here = (glim(*args, t, code=0, quiet=True).out for t in ["device", "file"])
        assert there == here and len(here) > 40 * 4, arithmetic
    fails(2, "none of auto|device|file", args=["logits", E2B, *ids, "--tables", "ram"])


@test
def plans_are_for_the_device():
    memory = gpus()[0]["memory_bytes"]
    plans = {}
    for tables in ["auto", "device", "file"]:
        args = ["inspect", E2B, "--device", "gpu", "--tables", tables]
        p = plans[tables] = json.loads(glim(*args, "--json", code=0, quiet=True).text)["plan"]
        both = p["weights"] + p["kv"] + p["activations"]
        assert p["total"] == both + (0 if p["tables_in_file"] else p["tables"]), p
        assert p["gpu_memory"] == memory and p["fits"] and p["device"].startswith("gpu ("), p
        text = glim(*args, code=0, quiet=True).text
        assert f"tokens on {p['device']}\n" in text and "the GPU has" in text, text
        assert ("in the file" in text) == (tables == "file"), text
    assert plans["auto"] == plans["device"] and plans["file"]["tables_in_file"], plans
    assert plans["device"]["tables"] == plans["file"]["tables"] > 0, plans
    cpu = json.loads(glim("inspect", E2B, "--device", "cpu", "--json", code=0).text)["plan"]
    assert cpu["tables_in_file"] and cpu["gpu_memory"] is None and cpu["fits"] is None, cpu


@test
def bench_tells_of_the_gpu():
    gpu = gpus()[0]
    args = ["bench", MODEL, "-p", "20", "-n", "12", "-r", "2", "--device", "gpu"]
    one = json.loads(glim(*args, "--json", code=0, quiet=True).text)
    assert gpu["name"] in one["device"] and one["driver"], one
    assert one["submits_per_token"] == 1 and one["dispatches_per_token"] > 20, one
    assert one["bytes_per_token"] > 0 and one["roof_gb_s"] is None, one
    assert json.loads(glim(*args, "--json", code=0, quiet=True).text)["hash"] == one["hash"]
    assert ("subgroups" in one["device"]) == gpu["subgroups"], one
    plain = json.loads(glim(*args, "--gpu-features", "none", "--json", code=0, quiet=True).text)
    assert "subgroups" not in plain["device"], plain
    assert plain["dispatches_per_token"] == one["dispatches_per_token"], plain
    r = glim(*args, "--profile", code=None)
    if "timestamp" in r.said:
        raise Skip(r.said)
    assert r.code == 0 and "by the GPU's clock" in r.text, r
    assert "matmul" in r.text and "draw" in r.text and "%" in r.text, r
    kernels = json.loads(glim(*args, "--profile", "--json", code=0, quiet=True).text)["kernels"]
    rows = re.findall(r"^  (\S+) .* ms .* %$", r.text[r.text.index("clock"):], re.M)
    assert sorted(kernels) == sorted(rows) and all(ns > 0 for ns in kernels.values()), (kernels, r)
    assert list(kernels.values()) == sorted(kernels.values(), reverse=True), kernels
    assert one["kernels"] is None, one


sys.exit(main())
