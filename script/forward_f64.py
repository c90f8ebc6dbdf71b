#!/usr/bin/env python3
"""Logits of a whole text in double precision: a forward pass written from the formulae, independent of any engine.

    python3 script/forward_f64.py MODEL.gguf IDS OUT [IDS OUT ...] [--int8 BLOCK] [--gelu-half]

Needs NumPy and the PyPI package gguf. Architectures: llama and gemma3. IDS: a file of token ids separated by blanks, fed
from position 0 on. OUT: float64, little endian, one row of vocabulary size per id; a named pipe will do, since the rows are
written a block at a time. Each OUT is opened when its turn comes.

--int8 BLOCK  rounds the input of every matmul with a quantised weight to int8: blocks of BLOCK values (32 for glim), scale
              absmax / 127, round to nearest even. This is the noise that an engine's integer arithmetic cannot avoid.
--gelu-half   rounds GELU's argument and value to half precision, as engines with a table of GELU by halves do.

rms(x; w) = w x / sqrt(mean(x^2) + eps). Rope rotates pairs of a head: llama the neighbours (2j, 2j+1), gemma3 the halves
(j, j + n/2), by pos * base^(-2j/n) / rope_freqs[j].
"""
import argparse

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

PLAIN = ("F32", "F16", "BF16")
ROWS = 16  # of logits at a time


class Model:
    def __init__(self, path, int8=0, gelu_half=False):
        reader = GGUFReader(path)
        self.keys = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("tokenizer.")}
        self.arch = self.keys["general.architecture"]
        if self.arch not in ("llama", "gemma3"):
            raise SystemExit(f"{path}: no formulae for architecture {self.arch}")
        self.tensors = {t.name.removesuffix(".weight"): t for t in reader.tensors}
        self.int8, self.gelu_half = int8, gelu_half
        self.embedding = self.weight("token_embd")

    def key(self, name, default=None):
        value = self.keys.get(f"{self.arch}.{name}", default)
        if value is None:
            raise SystemExit(f"the model lacks {self.arch}.{name}")
        return value

    def weight(self, name):
        """One tensor in double precision, dimensions in row-major order. Not kept: a layer's weights are used once."""
        t = self.tensors[name]
        shape = [int(n) for n in reversed(t.shape)]
        return dequantize(t.data, t.tensor_type).astype(np.float64).reshape(shape)

    def rounded(self, x):
        b = x.reshape(-1, self.int8)
        scale = np.abs(b).max(-1, keepdims=True) / 127
        return (np.rint(np.divide(b, scale, out=np.zeros_like(b), where=scale > 0)) * scale).reshape(x.shape)

    def input_of(self, name, x):
        """x as the matmul with tensor `name` sees it."""
        quantised = self.tensors[name].tensor_type.name not in PLAIN
        return self.rounded(x) if self.int8 and quantised else x

    def mul(self, name, x):
        return self.input_of(name, x) @ self.weight(name).T

    def rms(self, x, name):
        eps = self.key("attention.layer_norm_rms_epsilon")
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * self.weight(name)

    def activate(self, x):
        if self.arch == "llama":
            return x / (1 + np.exp(-x))
        h = x.astype(np.float16).astype(np.float64) if self.gelu_half else x
        y = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
        if not self.gelu_half:
            return y
        return np.where(np.abs(x) < 10, y.astype(np.float16), np.maximum(x, 0)).astype(np.float64)

    def rope(self, x, base):
        """x [T, heads, d]; the first n of d dimensions turn."""
        n = self.key("rope.dimension_count", x.shape[-1])
        inv = base ** (-np.arange(0, n, 2) / n)
        if "rope_freqs" in self.tensors:
            inv = inv / self.weight("rope_freqs")
        angle = np.arange(len(x))[:, None] * inv
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        first, second = (slice(0, n, 2), slice(1, n, 2)) if self.arch == "llama" else (slice(0, n // 2), slice(n // 2, n))
        y = x.copy()
        y[..., first] = x[..., first] * cos - x[..., second] * sin
        y[..., second] = x[..., first] * sin + x[..., second] * cos
        return y

    def attend(self, q, k, v, window):
        """Causal attention, q [T, heads, d] over k, v [T, kv heads, d]; position p sees p - window + 1 .. p."""
        T, heads, d = q.shape
        behind = np.arange(T)[:, None] - np.arange(T)
        mask = np.where((behind >= 0) & (behind < window), 0, -np.inf)
        out = np.empty((T, heads, v.shape[-1]))
        for h in range(heads):
            kv = h * k.shape[1] // heads
            score = q[:, h] @ k[:, kv].T / np.sqrt(d) + mask
            score = np.exp(score - score.max(-1, keepdims=True))
            out[:, h] = score / score.sum(-1, keepdims=True) @ v[:, kv]
        return out.reshape(T, -1)

    def layer(self, i, x):
        """gemma3 norms heads of q and k, and each branch before it is added; five layers of six slide, with their own base."""
        p, T, gemma = f"blk.{i}.", len(x), self.arch == "gemma3"
        slides = gemma and (i + 1) % 6 != 0
        base = self.key("rope.freq_base_swa", 10000.0) if slides else self.key("rope.freq_base")
        heads, kv_heads = self.key("attention.head_count"), self.key("attention.head_count_kv")
        y = self.rms(x, p + "attn_norm")
        q = self.mul(p + "attn_q", y).reshape(T, heads, -1)
        k = self.mul(p + "attn_k", y).reshape(T, kv_heads, -1)
        v = self.mul(p + "attn_v", y).reshape(T, kv_heads, -1)
        if gemma:
            q, k = self.rms(q, p + "attn_q_norm"), self.rms(k, p + "attn_k_norm")
        window = self.key("attention.sliding_window") if slides else T
        y = self.mul(p + "attn_output", self.attend(self.rope(q, base), self.rope(k, base), v, window))
        x = x + (self.rms(y, p + "post_attention_norm") if gemma else y)
        y = self.rms(x, p + "ffn_norm")
        y = self.mul(p + "ffn_down", self.activate(self.mul(p + "ffn_gate", y)) * self.mul(p + "ffn_up", y))
        return x + (self.rms(y, p + "post_ffw_norm") if gemma else y)

    def logits(self, ids):
        """Yields blocks of rows [<= ROWS, vocabulary]."""
        x = self.embedding[ids]
        if self.arch == "gemma3":
            x = x * np.sqrt(x.shape[-1])
        for i in range(self.key("block_count")):
            x = self.layer(i, x)
        head = "output" if "output" in self.tensors else "token_embd"
        table = self.weight("output") if head == "output" else self.embedding
        x = self.input_of(head, self.rms(x, "output_norm"))
        for at in range(0, len(x), ROWS):
            yield x[at : at + ROWS] @ table.T


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("model"), ap.add_argument("files", nargs="+", metavar="IDS OUT")
    ap.add_argument("--int8", type=int, default=0, metavar="BLOCK")
    ap.add_argument("--gelu-half", action="store_true")
    a = ap.parse_args()
    if len(a.files) % 2:
        ap.error("every IDS needs its OUT")
    model = Model(a.model, a.int8, a.gelu_half)
    for path, out in zip(a.files[::2], a.files[1::2]):
        with open(path) as f:
            ids = np.array(f.read().split(), dtype=np.int64)
        with open(out, "wb") as f:
            for rows in model.logits(ids):
                f.write(rows.astype("<f8").tobytes())


if __name__ == "__main__":
    main()
