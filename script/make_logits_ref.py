#!/usr/bin/env python3
"""Condense a model's logits by other engines into a reference GGUF, such as test/data/gemma3.ref.gguf.

    python3 script/make_logits_ref.py MODEL.gguf RUNS OUT.gguf --engine "NAME VERSION (COMMIT)"

Needs NumPy, the PyPI package gguf, the model file (for its checksum only) and a folder RUNS with a file `order` (names of
texts, one a line) and, for every text NAME:

    NAME.ids    token ids separated by blanks, as fed to the engines from position 0 on
    NAME.f32    float32, little endian, len(ids) rows of vocabulary size: logits of the other engine, teacher forced, with
                every weight dequantised to F32, F32 KV cache, no flash attention, GELU (if the model has it) in float32
    NAME.quant  the same from the quantised file as it is (that engine rounds activations to 8 bits)
    NAME.f64    float64: an independent pass in double precision over the dequantised weights (script/forward_f64.py)
    NAME.int8   float64: that pass with the input of every quantised matmul rounded to int8, blocks of 32
    NAME.half   optional: as f32, but with the half-precision table of GELU that the other engine really uses

Rows are read once and in order, one of each file at a time, so each file may be a named pipe that an engine writes to: with
a vocabulary of 262,144, the rows of one text of 2,000 tokens would fill 14 GB.

The result, per text (arrays run over the positions; row p holds what follows ids[0..p]):
    NAME.ids    I32 [T]
    NAME.top    I32 [8, T]   the ids that the other engine's F32 run likes best, best first
    NAME.f32    F32 [8, T]   their logits in that run
    NAME.f64    F32 [8, T]   their logits in the double-precision pass
    NAME.lse    F32 [T]      log-sum-exp of the whole row (F32 run), so that p(id) = exp(logit - lse)
    NAME.noise  F32 [3, 3]   rows f32-f64, int8-f64, quant-f32; columns max |difference|, rms difference after removing each
                             row's mean, mean KL divergence in nats
    NAME.half   F32 [3]      the same columns for half-f64, where there is such a run
"""
import argparse
import hashlib
import os

import numpy as np
from gguf import GGUFReader, GGUFWriter

TOP = 8
KINDS = {"f32": "<f4", "quant": "<f4", "f64": "<f8", "int8": "<f8", "half": "<f4"}
PAIRS = (("f32", "f64"), ("int8", "f64"), ("quant", "f32"), ("half", "f64"))


class Row:
    def __init__(self, raw):
        self.x = raw.astype(np.float64)
        most = self.x.max()
        self.p = np.exp(self.x - most)
        total = self.p.sum()
        self.lse = most + np.log(total)
        self.p /= total


class Noise:
    """Differences of a run to another, row by row."""

    def __init__(self):
        self.rows, self.worst, self.square, self.kl = 0, 0.0, 0.0, 0.0

    def add(self, a, b):
        d = a.x - b.x
        self.rows += 1
        self.worst = max(self.worst, np.abs(d).max())
        self.square += d.var()
        self.kl += a.lse - b.lse - b.p @ d  # KL(b || a)

    def figures(self):
        return [self.worst, (self.square / self.rows) ** 0.5, self.kl / self.rows]


def rows(path, dtype, count, size):
    """`count` rows of `size` numbers, then the end of the file."""
    need = size * np.dtype(dtype).itemsize
    with open(path, "rb") as f:
        for i in range(count):
            raw = f.read(need)
            if len(raw) != need:
                raise SystemExit(f"{path}: ends in row {i} of {count} (rows of {size})")
            yield Row(np.frombuffer(raw, dtype))
        if f.read(1):
            raise SystemExit(f"{path}: more than {count} rows of {size}")


def condense(path, n_vocab):
    """Everything about one text, as tensors by key."""
    with open(path + ".ids") as f:
        ids = np.array(f.read().split(), dtype=np.int32)
    kinds = [k for k in KINDS if k != "half" or os.path.exists(path + ".half")]
    pairs = {pair: Noise() for pair in PAIRS if pair[0] in kinds}
    top, norm = np.empty((len(ids), TOP), np.int32), np.empty(len(ids), np.float32)
    f32, f64 = np.empty((len(ids), TOP), np.float32), np.empty((len(ids), TOP), np.float32)
    for p, group in enumerate(zip(*(rows(f"{path}.{k}", KINDS[k], len(ids), n_vocab) for k in kinds), strict=True)):
        row = dict(zip(kinds, group))
        x = row["f32"].x
        best = np.argpartition(-x, TOP)[:TOP]
        top[p] = best[np.lexsort((best, -x[best]))]
        f32[p], f64[p], norm[p] = x[top[p]], row["f64"].x[top[p]], row["f32"].lse
        for (a, b), noise in pairs.items():
            noise.add(row[a], row[b])
    table = {pair[0]: noise.figures() for pair, noise in pairs.items()}
    found = {"ids": ids, "top": top, "f32": f32, "f64": f64, "lse": norm,
             "noise": np.array([table[k] for k in ("f32", "int8", "quant")], np.float32)}
    if "half" in table:
        found["half"] = np.array(table["half"], np.float32)
    return found


def vocabulary(model):
    return len(GGUFReader(model).fields["tokenizer.ggml.tokens"].data)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("model"), ap.add_argument("runs"), ap.add_argument("out")
    ap.add_argument("--engine", required=True)
    a = ap.parse_args()
    n_vocab = vocabulary(a.model)
    w = GGUFWriter(a.out, "golden")
    w.add_string("golden.engine", a.engine)
    w.add_string("golden.model", os.path.basename(a.model))
    with open(a.model, "rb") as f:
        w.add_string("golden.model_sha256", hashlib.file_digest(f, "sha256").hexdigest())
    with open(os.path.join(a.runs, "order")) as f:
        names = f.read().split()
    w.add_array("golden.texts", names)
    for name in names:
        found = condense(os.path.join(a.runs, name), n_vocab)
        for key, value in found.items():
            w.add_tensor(f"{name}.{key}", value)
        print(name, len(found["ids"]), *(found[k].tolist() for k in ("noise", "half") if k in found), flush=True)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()


if __name__ == "__main__":
    main()
