#!/usr/bin/env python3
"""Write what numpy reads from the test checkpoints: write_expected_weights.py FIXTURES_DIR. Needs numpy.

For every checkpoint folder, FIXTURES_DIR/expected/<name>.safetensors:
  <module>.weight         [N, K] float32   code x block scale x tensor scale, each product rounded to float32
  <module>.weight_scale   []               the tensor scale (1 where there is none)
  <module>.input_scale    []               only where activations are quantized with a static scale
<module> has no `.weight` and no prefix of the trunk: layers.0.mlp.up_proj, lm_head, mtp.fc.
"""
import os
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from colugo_safetensors import Reader, save
from reference_weights import Checkpoint


def modules(reader):
    """The linear layers of a checkpoint, by their names without the trunk's prefix."""
    for name in reader.names():
        module, _, suffix = name.rpartition(".")
        two_dimensional = suffix in ("weight", "weight_packed") and len(reader.shape(name)) == 2
        if two_dimensional and not module.startswith("model.visual."):
            yield module.replace("model.language_model.", "").removeprefix("model.")


def expected(folder):
    checkpoint, tensors = Checkpoint(folder, np.float32), {}
    for module in modules(Reader(folder)):
        linear = checkpoint.linear(module)
        scale = np.float32(1)
        if checkpoint.has(module + ".weight_global_scale"):
            scale = np.float32(1) / checkpoint.scalar(module + ".weight_global_scale")
        elif checkpoint.has(module + ".weight_scale_2"):
            scale = checkpoint.scalar(module + ".weight_scale_2")
        elif linear.scheme == "fp8":
            scale = checkpoint.scalar(module + ".weight_scale")
        tensors[module + ".weight"] = linear.weight
        tensors[module + ".weight_scale"] = np.array(scale, np.float32)
        if linear.scheme in ("nvfp4", "fp8"):
            tensors[module + ".input_scale"] = np.array(linear.input_scale, np.float32)
    return tensors


def main(fixtures):
    fixtures = pathlib.Path(fixtures)
    (fixtures / "expected").mkdir(exist_ok=True)
    for folder in sorted(path.parent for path in fixtures.glob("tiny*/config.json")):
        path = fixtures / "expected" / f"{folder.name}.safetensors"
        sources = [folder / "config.json", ROOT / "tools" / "reference_weights.py", pathlib.Path(__file__)]
        if not path.exists() or path.stat().st_mtime < max(os.stat(source).st_mtime for source in sources):
            save(str(path), expected(str(folder)))


if __name__ == "__main__":
    main(sys.argv[1])
