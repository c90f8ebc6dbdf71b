#!/usr/bin/env python3
"""Runs the composed WGSL decoders of all weight formats on a GPU and compares them with the fixture.

    pip install gguf wgpu
    build/release/test/test_quant --wgsl FOLDER
    python3 script/check_quant_wgsl.py FOLDER test/data/quants.golden.gguf

Any Vulkan driver will do, Mesa's software one included. WGSL allows fused products and sums, so a
difference of a rounding step of the product (2^-22 of the largest value in the block) passes and is
counted; more is an error.
"""
import pathlib
import sys

import numpy as np
import wgpu
from gguf import GGUFReader
from wgpu.utils.compute import compute_with_buffers


def main(folder, fixture):
    folder = pathlib.Path(folder)
    print(wgpu.gpu.request_adapter_sync().info["device"])
    grids = (folder / "grids.bin").read_bytes()
    tensors = {t.name: t.data for t in GGUFReader(fixture).tensors}
    bad = 0
    for path in sorted(folder.glob("*.wgsl")):
        values = tensors.get(path.stem + ".values")
        if values is None:  # F32: any floats will do
            values = np.random.default_rng(1).standard_normal((40, 1)).astype(np.float32)
            raw = values.tobytes()
        else:
            raw = tensors[path.stem + ".raw"].tobytes()
        raw += bytes(-len(raw) % 4)
        text = path.read_text()
        inputs = {1: raw, 2: grids} if "grids:" in text else {1: raw}
        out = compute_with_buffers(inputs, {0: values.nbytes}, text, n=(values.size + 1023) // 1024)
        got = np.frombuffer(out[0], "<f4").reshape(values.shape)
        step = np.abs(values).max(axis=1, keepdims=True) * 2.0**-22
        wrong = int((np.abs(got - values) > step).sum() + np.isnan(got).sum())
        other = int((got.view("<u4") != values.view("<u4")).sum())
        print(f"{path.stem:<8} {values.size:6} values, {other} with other bits, {wrong} wrong")
        bad += wrong
    sys.exit(bad != 0)


main(*sys.argv[1:])
