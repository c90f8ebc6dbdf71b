#!/usr/bin/env python3
"""Turn raw logits of SmolLM2-135M-Instruct Q4_1 by other engines into test/data/smollm2.ref.gguf.

    python3 script/make_smollm2_ref.py MODEL.gguf RUNS OUT.gguf --engine "NAME VERSION (COMMIT)"

Needs NumPy, the PyPI package gguf, the model file (for its checksum only) and a folder RUNS with a file `order` (names of
texts, one a line) and, for every text NAME:

    NAME.ids    token ids separated by blanks, as fed to the engines from position 0 on
    NAME.f32    float32, little endian, len(ids) rows of vocabulary size: logits of the other engine, teacher forced, with
                every weight dequantised to F32, F32 KV cache, no flash attention
    NAME.q4_1   the same from the Q4_1 file as it is (that engine rounds activations to 8 bits)
    NAME.f64    float64: an independent NumPy forward pass in double precision over the dequantised weights
    NAME.int8   float64: that pass with the input of every quantised matmul rounded to int8, blocks of 32, scale absmax/127

The result, per text (arrays run over the positions; row p holds what follows ids[0..p]):
    NAME.ids    I32 [T]
    NAME.top    I32 [8, T]   the ids that the other engine's F32 run likes best, best first
    NAME.f32    F32 [8, T]   their logits in that run
    NAME.f64    F32 [8, T]   their logits in the double-precision pass
    NAME.lse    F32 [T]      log-sum-exp of the whole row (F32 run), so that p(id) = exp(logit - lse)
    NAME.noise  F32 [3, 3]   rows f32-f64, int8-f64, q4_1-f32; columns max |difference|, rms difference after removing each
                             row's mean, mean KL divergence in nats
"""
import argparse, hashlib, os
import numpy as np
from gguf import GGUFWriter

TOP = 8


def lse(x):
    m = x.max()
    return m + np.log(np.exp(x - m).sum())


def noise(a, b):
    """max |a-b|, rms of a-b less each row's mean, mean KL(b||a) over all rows."""
    worst = square = kl = 0.0
    for x, y in zip(a, b):
        x, y = x.astype(np.float64), y.astype(np.float64)
        d = x - y
        worst = max(worst, np.abs(d).max())
        square += ((d - d.mean()) ** 2).mean()
        ly = lse(y)
        kl += lse(x) - ly - (np.exp(y - ly) * d).sum()
    return [worst, (square / len(a)) ** 0.5, kl / len(a)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("model"), ap.add_argument("runs"), ap.add_argument("out")
    ap.add_argument("--engine", required=True)
    a = ap.parse_args()
    w = GGUFWriter(a.out, "golden")
    w.add_string("golden.engine", a.engine)
    w.add_string("golden.model", os.path.basename(a.model))
    w.add_string("golden.model_sha256", hashlib.sha256(open(a.model, "rb").read()).hexdigest())
    names = open(os.path.join(a.runs, "order")).read().split()
    w.add_array("golden.texts", names)
    for name in names:
        path = os.path.join(a.runs, name)
        ids = np.array(open(path + ".ids").read().split(), dtype=np.int32)
        kinds = {"f32": "<f4", "q4_1": "<f4", "f64": "<f8", "int8": "<f8"}
        run = {k: np.memmap(f"{path}.{k}", dtype=t, mode="r").reshape(len(ids), -1) for k, t in kinds.items()}
        top = np.empty((len(ids), TOP), np.int32)
        norm = np.empty(len(ids), np.float32)
        for p, row in enumerate(run["f32"]):
            best = np.argpartition(-row, TOP)[:TOP]
            top[p] = best[np.lexsort((best, -row[best]))]
            norm[p] = lse(row.astype(np.float64))
        pick = lambda k: np.take_along_axis(np.asarray(run[k]), top.astype(np.int64), 1).astype(np.float32)
        table = np.array([noise(run["f32"], run["f64"]), noise(run["int8"], run["f64"]),
                          noise(run["q4_1"], run["f32"])], dtype=np.float32)
        for key, value in (("ids", ids), ("top", top), ("f32", pick("f32")), ("f64", pick("f64")), ("lse", norm),
                           ("noise", table)):
            w.add_tensor(f"{name}.{key}", value)
        print(name, len(ids), table.tolist())
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()


if __name__ == "__main__":
    main()
