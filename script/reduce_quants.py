#!/usr/bin/env python3
"""Writes test/data/quants.golden.gguf: raw blocks of every weight format and the values they hold.

    pip install gguf==0.19.0
    python3 script/reduce_quants.py FULL.golden.gguf test/data/quants.golden.gguf

FULL is a larger file of the same kind, whose blocks and values come from ggml's reference
quantiser and from the Python package's dequantiser (which agree). Per type T:
  T.raw    I8[bytes, blocks]   random blocks     T.values        F32[block, blocks]
  T.quant  I8[bytes, rows]     rows of 512       T.quant_values  F32[512, rows]
  key golden.type.T            ggml's number of T
IQ1_M is not in FULL: its blocks are made here and decoded by the Python package.
"""
import sys

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, quants

BLOCKS = {1: 1024, 32: 48, 256: 12}  # kept per type, by block length
GRID_BLOCKS = 32  # of the types with grids, so that many grid entries are met
ROWS = 4  # of the quantised rows: plain, all zero, with outliers, all positive


def iq1_m(rng):
    """[64, 56] u8: random blocks in which every one of the 2048 grid entries occurs once."""
    raw = rng.integers(0, 256, (64, 56), dtype=np.uint8)
    index = rng.permutation(2048).reshape(64, 32)
    raw[:, :32] = index & 255
    high = (index >> 8) | rng.integers(0, 2, (64, 32)) << 3
    raw[:, 32:48] = high[:, 0::2] | high[:, 1::2] << 4
    # the scale's nibbles are the top ones of four u16; magnitudes 0.001 to 0.1, some negative
    d = rng.uniform(0.001, 0.1, 64) * np.where(rng.random(64) < 0.2, -1, 1)
    d[:3] = 0, 2.0**-24, -(2.0**-15)  # zero and subnormals
    bits = d.astype("<f2").view("<u2")
    for k in range(4):
        byte = raw[:, 49 + 2 * k]
        byte[:] = byte & 15 | (bits >> 4 * k & 15).astype(np.uint8) << 4
    return raw


def main(full, out):
    w = GGUFWriter(out, "golden")
    w.add_string("golden.model", "quantised blocks")
    w.add_string("golden.source", "blocks and values: reduced from ggml reference data by script/reduce_quants.py; "
                 "IQ1_M: random blocks, values by the dequantiser of the Python package gguf 0.19.0")
    tensors = {t.name: t.data for t in GGUFReader(full).tensors}
    for name in [t.removesuffix(".raw") for t in tensors if t.endswith(".raw")]:
        w.add_uint32("golden.type." + name, int(GGMLQuantizationType[name]))
        values = tensors[name + ".values"]
        keep = GRID_BLOCKS if name in ("IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S") else BLOCKS[values.shape[1]]
        for part, n in ("raw", keep), ("values", keep), ("quant", ROWS), ("quant_values", ROWS):
            w.add_tensor(f"{name}.{part}", tensors[f"{name}.{part}"][:n].copy())
    raw = iq1_m(np.random.default_rng(29))
    values = quants.dequantize(raw, GGMLQuantizationType.IQ1_M).astype(np.float32)
    assert np.isfinite(values).all()
    w.add_uint32("golden.type.IQ1_M", int(GGMLQuantizationType.IQ1_M))
    w.add_tensor("IQ1_M.raw", raw.view(np.int8))
    w.add_tensor("IQ1_M.values", values)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


main(*sys.argv[1:])
