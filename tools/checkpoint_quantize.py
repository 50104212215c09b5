"""The published storage schemes of a linear weight, as streams of (tensor name, array) in file order.

Schemes: nvfp4 (ModelOpt W4A4), w4a16 (the same bits, weights only), ct_nvfp4 (compressed-tensors), fp8 (one scale for
the tensor), fp8_block (128x128 block scales). A weight arrives as a Draw, so that none is in memory as a whole.
"""

import numpy as np

import colugo_formats as formats
from colugo_random import NORMAL, UNIFORM, Stream
from colugo_safetensors import Spec

CHUNK = 1 << 18  # elements in memory at a time, about: what fits a cache
NVFP4_SCHEMES = ("nvfp4", "w4a16", "ct_nvfp4")
BLOCK = 128  # fp8_block


class Draw:
    """The random values of one parameter: a table of 65536 equally likely float32 values and a stream of indices."""

    def __init__(self, parameter, seed, stream_name=None):
        self.shape = parameter.shape
        self._seed, self._name = seed, stream_name or parameter.name
        self.table = _table(parameter)
        self.columns = int(np.prod(self.shape[1:], dtype=np.int64)) if len(self.shape) > 1 else 1

    def chunks(self, table, row_multiple=4):
        """table[indices] as chunks [rows, columns]; rows is a multiple of `row_multiple`, itself one of 4."""
        step = max(CHUNK // self.columns // row_multiple, 1) * row_multiple
        stream = Stream(self._seed, self._name)
        for begin in range(0, self.shape[0], step):
            rows = min(step, self.shape[0] - begin)
            yield table[stream.indices(rows * self.columns)].reshape(rows, self.columns)

    def weights(self, row_multiple=4):
        """The values rounded to bf16, as float32: what every quantized format starts from."""
        return self.chunks(formats.round_bf16(self.table), row_multiple)

    def spread(self):
        return float(np.sqrt(np.mean(self.table.astype(np.float64) ** 2)))

    def side_stream(self, purpose):
        return Stream(self._seed, f"{self._name}:{purpose}")


def _table(parameter):
    if parameter.kind == "A_log":
        return np.float32(-1) + np.float32(3) * UNIFORM
    if parameter.kind == "dt_bias":  # from a memory of hundreds of tokens to one of a few
        return np.float32(-5) + np.float32(6) * UNIFORM
    if parameter.kind == "gated_norm":
        return np.float32(1) + np.float32(0.2) * NORMAL
    spreads = {"norm": 0.2, "conv": 0.4, "embedding": 0.05}
    spread = spreads[parameter.kind] if parameter.kind in spreads else 1.2 / np.sqrt(np.float64(parameter.shape[-1]))
    return np.float32(spread) * NORMAL


def specs(module, scheme, shape, block_scale_dtype="BF16"):
    """The tensors that one quantized linear `module` of [N, K] is stored as, in file order."""
    rows, columns = shape
    if scheme in NVFP4_SCHEMES:
        if columns % 16:
            raise SystemExit(f"{module}: K = {columns} is not a multiple of 16, NVFP4 cannot hold it")
        compressed = scheme == "ct_nvfp4"
        scalar = (1,) if compressed else ()
        return [
            Spec(f"{module}.weight_packed" if compressed else f"{module}.weight", "U8", (rows, columns // 2)),
            Spec(f"{module}.weight_scale", "F8_E4M3", (rows, columns // 16)),
            Spec(f"{module}.weight_global_scale" if compressed else f"{module}.weight_scale_2", "F32", scalar),
            Spec(f"{module}.input_global_scale" if compressed else f"{module}.input_scale", "F32", scalar),
        ]
    weight = Spec(f"{module}.weight", "F8_E4M3", (rows, columns))
    if scheme == "fp8":
        return [weight, Spec(f"{module}.weight_scale", "F32", ()), Spec(f"{module}.input_scale", "F32", ())]
    return [weight, Spec(f"{module}.weight_scale_inv", block_scale_dtype, (-(-rows // BLOCK), -(-columns // BLOCK)))]


def pieces(specs_, scheme, draw, input_amax, random_codes):
    """The data of `specs(...)`. With `random_codes` codes are drawn directly, with the statistics of quantized ones."""
    if scheme in NVFP4_SCHEMES:
        return _nvfp4(specs_, draw, input_amax, scheme == "ct_nvfp4", random_codes)
    if scheme == "fp8":
        return _fp8(specs_, draw, input_amax, random_codes)
    return _fp8_block(specs_, draw, random_codes)


def _amax(draw):
    return np.float32(max(np.abs(chunk).max() for chunk in draw.weights()))


def _group_amax(values, group):
    """Largest magnitude of each `group` consecutive columns (a power of two): [R, C] -> [R, C / group]."""
    folded = np.abs(values).reshape(-1, group)
    while folded.shape[1] > 1:
        half = folded.shape[1] // 2
        folded = np.maximum(folded[:, :half], folded[:, half:])
    return folded.reshape(len(values), -1)


def nvfp4_encode(values, scale_2):
    """float32 [R, K] -> e2m1 codes [R, K] and e4m3 scale codes [R, K/16], for the tensor scale `scale_2`."""
    block = _group_amax(values, 16) / np.float32(6) / np.float32(scale_2)
    block = np.clip(np.where(block == 0, np.float32(1), block), np.float32(2.0**-9), np.float32(448))
    scale_codes = formats.e4m3_encode(block)
    step = formats.e4m3_decode(scale_codes) * np.float32(scale_2)
    scaled = values.reshape(len(values), -1, 16) / step[..., None]
    return formats.e2m1_encode(scaled.reshape(values.shape)), scale_codes


def _nvfp4(specs_, draw, input_amax, compressed, random_codes):
    weight, weight_scale, second, input_scale = specs_
    amax = np.float32(4 * draw.spread()) if random_codes else _amax(draw)
    scale_2 = amax / np.float32(6 * 448)
    if compressed:  # the file holds the reciprocal; a reader sees what one division gives back
        reciprocal = np.float32(1) / scale_2
        scale_2 = np.float32(1) / reciprocal
    if random_codes:
        yield from _random_nvfp4(weight, weight_scale, draw, scale_2)
    else:
        scales = []
        for chunk in draw.weights():
            codes, scale_codes = nvfp4_encode(chunk, scale_2)
            scales.append(scale_codes)
            yield weight.name, formats.pack_nibbles(codes)
        for scale_codes in scales:
            yield weight_scale.name, scale_codes
    input_value = np.float32(input_amax) / np.float32(6 * 448)
    yield second.name, np.float32([reciprocal if compressed else scale_2])
    yield input_scale.name, np.float32([1 / input_value if compressed else input_value])


def _random_nvfp4(weight, weight_scale, draw, scale_2):
    for spec, purpose in ((weight, "codes"), (weight_scale, "scales")):
        stream, left = draw.side_stream(purpose), spec.size
        # Uniform codes have a root mean square of 2.93; block scales vary by a factor of two around the wanted spread.
        levels = draw.spread() / 2.93 / float(scale_2) * np.linspace(0.65, 1.3, 256)
        scale_table = formats.e4m3_encode(levels.astype(np.float32))
        while left:
            data = stream.bytes(min(left, CHUNK))
            left -= len(data)
            yield spec.name, data if spec is weight else scale_table[data]


def _fp8(specs_, draw, input_amax, random_codes):
    weight, weight_scale, input_scale = specs_
    amax = np.abs(formats.round_bf16(draw.table)).max() if random_codes else _amax(draw)
    scale = np.float32(amax) / np.float32(448)
    if random_codes:
        for chunk in draw.chunks(formats.e4m3_encode(formats.round_bf16(draw.table) / scale)):
            yield weight.name, chunk
    else:
        for chunk in draw.weights():
            yield weight.name, formats.e4m3_encode(chunk / scale)
    yield weight_scale.name, np.float32([scale])
    yield input_scale.name, np.float32([input_amax]) / np.float32(448)


def _fp8_block(specs_, draw, random_codes):
    weight, scale_inv = specs_
    store, load = (formats.bf16_encode, formats.bf16_decode) if scale_inv.dtype == "BF16" else (np.float32, np.float32)
    scale_rows = []
    if random_codes:
        scale = np.float32(np.abs(draw.table).max()) / np.float32(448)
        for chunk in draw.chunks(formats.e4m3_encode(draw.table / scale), BLOCK):
            yield weight.name, chunk
        factors = draw.side_stream("scales").uniform(0.8, 1.2, scale_inv.shape[0] * scale_inv.shape[1])
        scale_rows.append(store(scale * factors))
    else:
        for chunk in draw.weights(BLOCK):
            scales = store(_block_amax(chunk) / np.float32(448))
            scale_rows.append(scales)
            step = load(scales).repeat(BLOCK, 0)[: len(chunk)].repeat(BLOCK, 1)[:, : chunk.shape[1]]
            yield weight.name, formats.e4m3_encode(chunk / step)
    for scales in scale_rows:
        yield scale_inv.name, scales


def _block_amax(values):
    rows, columns = values.shape
    padded = np.zeros((-(-rows // BLOCK) * BLOCK, -(-columns // BLOCK) * BLOCK), np.float32)
    padded[:rows, :columns] = np.abs(values)
    return padded.reshape(len(padded) // BLOCK, BLOCK, -1, BLOCK).max(axis=(1, 3))
