"""The number formats checkpoints are stored in, encoded and decoded over whole numpy arrays.

Every encoder takes float32 and rounds to nearest, ties to even. They agree bit for bit with src/base/float_formats.h;
running this file checks each of them against a brute-force search. Needs numpy >= 1.24 only.
"""

import numpy as np

E4M3_MAX = 448.0
E2M1_MAX = 6.0
E2M1_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def _bits(values):
    """The bit patterns of float32 values, as a fresh uint32 array that may be overwritten."""
    return np.ascontiguousarray(values, np.float32).view(np.uint32).copy()


def bf16_encode(values):
    """float32 -> uint16 bit patterns. NaN stays NaN (quiet), with its sign."""
    bits = _bits(values)
    nan = np.isnan(values)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    bits += np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return np.where(nan, quiet, bits >> np.uint32(16)).astype(np.uint16)


def bf16_decode(codes):
    """uint16 bit patterns -> float32."""
    return (np.asarray(codes, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def round_bf16(values):
    """The float32 values that bf16 storage would give back."""
    return bf16_decode(bf16_encode(values))


def f16_encode(values):
    return np.asarray(values, np.float32).astype(np.float16).view(np.uint16)


def f16_decode(codes):
    return np.asarray(codes, np.uint16).view(np.float16).astype(np.float32)


def e4m3_encode(values):
    """float32 -> uint8 codes (OCP FP8 E4M3, no infinities), saturating at +-448; NaN becomes 0x7f."""
    values = np.ascontiguousarray(values, np.float32)
    magnitude = np.minimum(np.abs(values), np.float32(E4M3_MAX))  # NaN survives
    bits = magnitude.view(np.uint32)
    # Normal numbers lose the 20 low mantissa bits; below 2^-6 the spacing is a constant 2^-9.
    normal = ((bits + np.uint32(0x7FFFF) + ((bits >> np.uint32(20)) & np.uint32(1))) >> np.uint32(20)) - np.uint32(
        120 << 3
    )
    with np.errstate(invalid="ignore"):
        small = np.rint(magnitude * np.float32(512)).astype(np.uint32)
    codes = np.where(magnitude < np.float32(2.0**-6), small, normal).astype(np.uint8)
    codes |= np.signbit(values).astype(np.uint8) << np.uint8(7)
    codes[np.isnan(values)] = 0x7F
    return codes


def _e4m3_table():
    codes = np.arange(256)
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    values = np.where(exponent == 0, np.ldexp(mantissa / 1.0, -9), np.ldexp(8.0 + mantissa, exponent - 10))
    values[(codes & 0x7F) == 0x7F] = np.nan
    return np.where(codes & 0x80, -values, values).astype(np.float32)


E4M3_VALUES = _e4m3_table()


def e4m3_decode(codes):
    """uint8 codes -> float32."""
    return E4M3_VALUES[np.asarray(codes, np.uint8)]


def e2m1_encode(values):
    """float32 -> uint8 codes 0..15, saturating at +-6. A negative value that rounds to zero gives 8; NaN gives 0."""
    values = np.ascontiguousarray(values, np.float32)
    magnitude = np.fmin(np.abs(values), np.float32(E2M1_MAX))
    bits = magnitude.view(np.uint32)
    # Normal numbers keep one mantissa bit; below 1 the spacing is a constant 0.5.
    normal = ((bits + np.uint32(0x1FFFFF) + ((bits >> np.uint32(22)) & np.uint32(1))) >> np.uint32(22)) - np.uint32(
        126 << 1
    )
    small = np.rint(magnitude * np.float32(2)).astype(np.uint32)
    codes = np.where(magnitude < np.float32(1), small, normal).astype(np.uint8)
    codes |= np.signbit(values).astype(np.uint8) << np.uint8(3)
    nan = np.isnan(values)
    if nan.any():
        codes[nan] = 0
    return codes


def e2m1_decode(codes):
    """uint8 codes 0..15 -> float32."""
    return E2M1_VALUES[np.asarray(codes, np.uint8)]


def pack_nibbles(codes):
    """Codes [..., K] -> bytes [..., K/2]; the even element sits in the low nibble."""
    codes = np.asarray(codes, np.uint8)
    return codes[..., 0::2] | (codes[..., 1::2] << np.uint8(4))


def unpack_nibbles(packed):
    """Bytes [..., K/2] -> codes [..., K]."""
    packed = np.asarray(packed, np.uint8)
    return np.stack([packed & np.uint8(15), packed >> np.uint8(4)], axis=-1).reshape(*packed.shape[:-1], -1)


def _probes(values):
    """Float32 inputs that decide a rounding rule: the values, their midpoints, and both neighbours of each."""
    values = np.unique(values[np.isfinite(values)].astype(np.float64))
    points = np.concatenate([values, (values[1:] + values[:-1]) / 2, values * 0.999, values * 1.001]).astype(np.float32)
    infinity = np.float32(np.inf)
    everything = np.concatenate([points, np.nextafter(points, infinity), np.nextafter(points, -infinity)])
    return np.concatenate([everything, np.float32([1e30, -1e30, np.inf, -np.inf, 1e-30, -1e-30, 0.0, -0.0])])


def _nearest(values, table):
    """Codes by brute force: the nearest table entry, the even code on a tie, the sign of the input on a zero."""
    magnitudes = table[: len(table) // 2].astype(np.float64)
    magnitudes = magnitudes[np.isfinite(magnitudes)]
    clamped = np.minimum(np.abs(values.astype(np.float64)), magnitudes[-1])
    best = np.empty(len(values), np.int64)
    for index, value in enumerate(clamped):
        distance = np.abs(magnitudes - value)
        ties = np.flatnonzero(distance == distance.min())
        best[index] = ties[0] if len(ties) == 1 or ties[0] % 2 == 0 else ties[1]
    return (best + np.signbit(values) * (len(table) // 2)).astype(np.uint8)


def self_test():
    for encode, decode, table in ((e4m3_encode, e4m3_decode, E4M3_VALUES), (e2m1_encode, e2m1_decode, E2M1_VALUES)):
        codes = np.arange(len(table), dtype=np.uint8)
        finite = codes[np.isfinite(table)]
        assert np.array_equal(encode(decode(finite)), finite)
        probes = _probes(table)
        assert np.array_equal(encode(probes), _nearest(probes, table))
    assert np.array_equal(e4m3_encode(np.float32([np.nan, -np.nan])), [0x7F, 0x7F])
    assert np.array_equal(
        e2m1_encode(np.float32([np.nan, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])), [0, 0, 2, 2, 4, 4, 6, 6]
    )

    codes = np.arange(65536, dtype=np.uint32).astype(np.uint16)
    values = bf16_decode(codes)
    numbers = ~np.isnan(values)
    assert np.array_equal(bf16_encode(values)[numbers], codes[numbers])
    assert np.isnan(bf16_decode(bf16_encode(values[~numbers]))).all()
    # Halfway between neighbours: up from an odd code, down from an even one; one unit beside halfway decides it.
    low = np.arange(0x7F7F, dtype=np.uint32)
    for offset, expected in ((0x7FFF, low), (0x8000, low + (low & 1)), (0x8001, low + 1)):
        assert np.array_equal(bf16_encode(((low << 16) + np.uint32(offset)).view(np.float32)), expected)
    halves = f16_decode(codes)
    numbers = ~np.isnan(halves)
    assert np.array_equal(f16_encode(halves)[numbers], codes[numbers])

    nibbles = (np.arange(64, dtype=np.uint8) * 7 % 16).reshape(2, 32)
    assert np.array_equal(unpack_nibbles(pack_nibbles(nibbles)), nibbles)
    assert pack_nibbles(np.uint8([1, 2])) == 0x21


if __name__ == "__main__":
    self_test()
    print("number formats: all checks passed")
