"""Reading and writing safetensors files by hand: an 8-byte header length, a JSON header, then the data.

The writer streams: all names, types and shapes are planned first, then the data is given in the planned order, in
pieces of any size. Files appear under their final names only when they are complete.
"""

import json
import os
import struct

import numpy as np

DTYPES = {"F32": "<f4", "F16": "<u2", "BF16": "<u2", "F8_E4M3": "|u1", "U8": "|u1", "I32": "<i4", "I64": "<i8"}


class Spec:
    """Name, dtype (safetensors' word) and shape of one tensor."""

    def __init__(self, name, dtype, shape):
        self.name, self.dtype, self.shape = name, dtype, tuple(int(n) for n in shape)
        self.size = int(np.prod(self.shape, dtype=np.int64)) * np.dtype(DTYPES[dtype]).itemsize


def _header(specs, metadata):
    entries, offset = {"__metadata__": metadata}, 0
    for spec in specs:
        entries[spec.name] = {
            "dtype": spec.dtype,
            "shape": list(spec.shape),
            "data_offsets": [offset, offset + spec.size],
        }
        offset += spec.size
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the data starts at a multiple of 8
    return struct.pack("<Q", len(text)) + text


def _split(specs, shard_bytes):
    shards = [[]]
    for spec in specs:
        if shards[-1] and shard_bytes and sum(s.size for s in shards[-1]) + spec.size > shard_bytes:
            shards.append([])
        shards[-1].append(spec)
    return shards


def write_checkpoint(folder, specs, pieces, shard_bytes=0, metadata=None):
    """Write model.safetensors, or numbered shards of about `shard_bytes` with an index, into `folder`.

    `pieces` yields (name, array) with the arrays of each tensor in row-major order and the tensors in the order of
    `specs`. Returns the bytes of tensor data written.
    """
    shards = _split(specs, shard_bytes)
    single = len(shards) == 1
    names = (
        ["model.safetensors"]
        if single
        else [f"model-{i + 1:05d}-of-{len(shards):05d}.safetensors" for i in range(len(shards))]
    )
    pieces = iter(pieces)
    for name, shard in zip(names, shards):
        path = os.path.join(folder, name)
        with open(path + ".partial", "wb", buffering=0) as file:
            file.write(_header(shard, metadata or {"format": "pt"}))
            for spec in shard:
                _write_tensor(file, spec, pieces)
        os.replace(path + ".partial", path)
    assert next(pieces, None) is None, "more data than planned tensors"
    total = sum(spec.size for spec in specs)
    if not single:
        weight_map = {spec.name: name for name, shard in zip(names, shards) for spec in shard}
        write_json(
            os.path.join(folder, "model.safetensors.index.json"),
            {"metadata": {"total_size": total}, "weight_map": weight_map},
        )
    return total


def _write_tensor(file, spec, pieces):
    left = spec.size
    while left:
        name, array = next(pieces)
        array = np.ascontiguousarray(array)
        assert name == spec.name and array.dtype == np.dtype(DTYPES[spec.dtype]), (name, spec.name, array.dtype)
        left -= array.nbytes
        assert left >= 0, f"too much data for {name}"
        view = memoryview(array.reshape(-1).view(np.uint8))
        while view:
            view = view[file.write(view) :]


def save(path, tensors, metadata=None):
    """Write a dict of numpy arrays (float32, uint8, int32, int64) as one file."""
    words = {np.dtype("<f4"): "F32", np.dtype("|u1"): "U8", np.dtype("<i4"): "I32", np.dtype("<i8"): "I64"}
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    specs = [Spec(name, words[array.dtype], np.shape(tensors[name])) for name, array in arrays.items()]
    with open(path + ".partial", "wb") as file:
        file.write(_header(specs, {key: str(value) for key, value in (metadata or {}).items()}))
        for array in arrays.values():
            file.write(array.tobytes())
    os.replace(path + ".partial", path)


def write_json(path, value):
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path, text):
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".partial", path)


class Reader:
    """The tensors of a folder with model.safetensors or an index, or of one file, mapped into memory."""

    def __init__(self, path):
        self._entries = {}
        self.metadata = {}
        for file in self._files(path):
            self._open(file)

    @staticmethod
    def _files(path):
        if os.path.isfile(path):
            return [path]
        index = os.path.join(path, "model.safetensors.index.json")
        if not os.path.exists(index):
            return [os.path.join(path, "model.safetensors")]
        with open(index, encoding="utf-8") as file:
            return [os.path.join(path, name) for name in sorted(set(json.load(file)["weight_map"].values()))]

    def _open(self, path):
        with open(path, "rb") as file:
            length = struct.unpack("<Q", file.read(8))[0]
            header = json.loads(file.read(length))
        self.metadata.update(header.pop("__metadata__", {}))
        data = (
            np.memmap(path, np.uint8, "r", offset=8 + length)
            if os.path.getsize(path) > 8 + length
            else np.zeros(0, "u1")
        )
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            self._entries[name] = (entry["dtype"], tuple(entry["shape"]), data[begin:end])

    def names(self):
        return list(self._entries)

    def __contains__(self, name):
        return name in self._entries

    def dtype(self, name):
        return self._entries[name][0]

    def shape(self, name):
        return self._entries[name][1]

    def raw(self, name):
        """The stored values: bit patterns (uint16, uint8) for bf16, f16 and fp8."""
        dtype, shape, data = self._entries[name]
        return data.view(DTYPES[dtype]).reshape(shape)
