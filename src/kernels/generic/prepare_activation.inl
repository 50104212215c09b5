namespace colugo::kernels {

template <class V>
size_t padded_units(int k) {
    return (static_cast<size_t>(k) + kUnitK - 1) / kUnitK;
}

template <class V>
size_t group_count(int k) {
    return (static_cast<size_t>(k) + kGroupK - 1) / kGroupK;
}

// A row or a position whose largest magnitude is below has integers 0: divisions by its scale could overflow.
inline constexpr float kLeastInt8Magnitude = 0x1p-100f;

template <class V>
size_t int8_row_codes_bytes(int k) {
    return padded_units<V>(k) * kUnitK * (V::kByteDots ? sizeof(int8_t) : sizeof(float));
}

template <class V>
const Int8RowEnd& int8_row_end(const std::byte* row, int k) {
    return *reinterpret_cast<const Int8RowEnd*>(row + int8_row_codes_bytes<V>(k));
}

template <class V>
size_t activation_row_bytes(ActivationFormat format, int k) {
    size_t bytes = padded_units<V>(k);
    switch (format) {
        case ActivationFormat::f32:
        case ActivationFormat::bf16:
        case ActivationFormat::fp8:
            bytes *= kUnitK * sizeof(float);
            break;
        case ActivationFormat::fp8_group128:
            bytes = bytes * kUnitK * sizeof(float) + group_count<V>(k) * sizeof(float);
            break;
        case ActivationFormat::bf16_block16:
            bytes *= sizeof(Block16RowUnit);
            break;
        case ActivationFormat::nvfp4:
            bytes *= sizeof(Nvfp4RowUnit);
            break;
        case ActivationFormat::int8:
            bytes = int8_row_codes_bytes<V>(k) + sizeof(Int8RowEnd);
            break;
    }
    // An odd number of lines: the rows a multiplier reads side by side must not fall on the same sets of the cache.
    return (bytes + 63) / 64 * 64 | 64;
}

// max |x[i]| as a number whose order is that of the bits: NaN is above infinity, so it is never lost.
template <class V>
float max_magnitude(const float* x, int n) {
    uint32_t most = 0;
    for (int i = 0; i < n; ++i) {
        const uint32_t magnitude = __builtin_bit_cast(uint32_t, x[i]) & 0x7fffffffu;
        most = magnitude > most ? magnitude : most;
    }
    return __builtin_bit_cast(float, most);
}

// out[i] = round(x[i]) for i < n, V by V.
template <class V, class Round>
void map_row(float* out, const float* x, int n, Round round) {
    int i = 0;
    for (; i + V::kWidth <= n; i += V::kWidth) round(V::load(x + i)).store(out + i);
    if (i < n) round(V::load_partial(x + i, n - i)).store_partial(out + i, n - i);
}

template <class V>
void prepare_group128(float* out, const float* x, int k) {
    float* scales = out + padded_units<V>(k) * kUnitK;
    for (int begin = 0; begin < k; begin += kGroupK) {
        const int n = k - begin < kGroupK ? k - begin : kGroupK;
        const float most = max_magnitude<V>(x + begin, n);
        const float scale = most == 0.0f ? 1.0f : most / 448.0f;
        scales[begin / kGroupK] = scale;
        map_row<V>(out + begin, x + begin, n, [scale](V value) { return V::round_e4m3(value / V::set(scale)); });
    }
}

// `blocks` whole blocks, at most 64, as store(block, e, codes): the values of the format, in f32 operations in this
// order:
//   e = e4m3((amax / 6) / input_scale), code = e2m1(x / (e x input_scale)), or 0 throughout where e is 0 or NaN
// A block with a NaN has e = NaN and codes 0, so its product is NaN.
template <class V, class Store>
void quantize_nvfp4_blocks(int blocks, float input_scale, const float* x, Store store) {
    float scales[64] = {};
    float divisors[64];
    for (int block = 0; block < blocks; ++block) scales[block] = max_magnitude<V>(x + block * 16, 16);
    map_row<V>(scales, scales, blocks,
               [input_scale](V most) { return V::round_e4m3(most / V::set(6.0f) / V::set(input_scale)); });
    map_row<V>(divisors, scales, blocks, [input_scale](V scale) { return scale * V::set(input_scale); });
    for (int block = 0; block < blocks; ++block) {
        V codes[16 / V::kWidth];
        for (int i = 0; i < 16 / V::kWidth; ++i) {
            const V value = V::load(x + block * 16 + i * V::kWidth);
            codes[i] = scales[block] > 0.0f ? V::round_e2m1(value / V::set(divisors[block])) : V::zero();
        }
        store(block, scales[block], codes);
    }
}

// From the begin of a unit on.
template <class V>
void prepare_nvfp4_blocks(Nvfp4RowUnit* units, int blocks, float input_scale, const float* x) {
    quantize_nvfp4_blocks<V>(blocks, input_scale, x, [units](int index, float scale, V(&codes)[16 / V::kWidth]) {
        Nvfp4RowUnit& unit = units[index / 4];
        const int block = index % 4;
        V total = V::zero();
        for (V& code : codes) {
            code = code + code;
            total = total + code;
        }
        V::store_codes(unit.codes + block * 16, codes);
        unit.scales[block] = scale;
        unit.offsets[block] = V::code_offset(total.reduce_add());
    });
}

// 16-bit integers times a power of two chosen for the block: bf16 has 8 significant bits, so values within 2^-7 of the
// largest are exact and smaller ones are within 2^-15 of it. Not finite: unit NaN, values 0.
template <class V>
void prepare_block16(Block16RowUnit& unit, int block, const float* x) {
    float rounded[16];
    for (int i = 0; i < 16; i += V::kWidth) V::round_bf16(V::load(x + i)).store(rounded + i);
    const uint32_t most = __builtin_bit_cast(uint32_t, max_magnitude<V>(rounded, 16));
    int16_t* values = unit.values + block * 16;
    if (most >= 0x7f800000u) {
        for (int i = 0; i < 16; ++i) values[i] = 0;
        unit.units[block] = __builtin_nanf("");
        return;
    }
    // The largest has exponent `exponent` and becomes at most 255 x 2^7. Kept where both powers are normal.
    const int exponent = static_cast<int>(most >> 23) - 127 < -100 ? -100 : static_cast<int>(most >> 23) - 127;
    const V factor = V::pow2(V::set(static_cast<float>(14 - exponent)));
    for (int i = 0; i < 16; i += V::kWidth) V::round(V::load(rounded + i) * factor).store_int16(values + i);
    unit.units[block] = V::pow2(V::set(static_cast<float>(exponent - 14))).first();
}

// Writes round(x / scale) as s8 or f32, zeros up to the padded k. Not finite: scale NaN, integers 0.
template <class V>
void prepare_int8(std::byte* out, const float* x, int k) {
    const float most = max_magnitude<V>(x, k);
    const float scale = most / 127.0f;
    const bool finite = most < __builtin_inff();
    const bool any = finite && most >= kLeastInt8Magnitude;
    float codes[kUnitK];
    int32_t total = 0;
    const auto units = static_cast<int>(padded_units<V>(k));
    for (int unit = 0; unit < units; ++unit) {
        const int n = k - unit * kUnitK < kUnitK ? k - unit * kUnitK : kUnitK;
        for (float& code : codes) code = 0.0f;
        if (any) map_row<V>(codes, x + unit * kUnitK, n, [=](V value) { return V::round(value / V::set(scale)); });
        for (int i = 0; i < kUnitK; ++i) {
            total += static_cast<int32_t>(codes[i]);
            if constexpr (V::kByteDots) {
                reinterpret_cast<int8_t*>(out)[unit * kUnitK + i] = static_cast<int8_t>(codes[i]);
            } else {
                reinterpret_cast<float*>(out)[unit * kUnitK + i] = codes[i];
            }
        }
    }
    auto& end = *reinterpret_cast<Int8RowEnd*>(out + int8_row_codes_bytes<V>(k));
    end.scale = finite ? (any ? scale : 0.0f) : __builtin_nanf("");
    end.offset = -128 * total;
}

// Up to 16 units at a time. Values past k, to the end of the last unit, are zero.
template <class V, class Unit, class Blocks>
void prepare_units(std::byte* out, const float* x, int k, Blocks prepare_blocks) {
    Unit* units = reinterpret_cast<Unit*>(out);
    const int whole = k / kUnitK;
    for (int unit = 0; unit < whole; unit += 16) {
        const int count = whole - unit < 16 ? whole - unit : 16;
        prepare_blocks(units + unit, count * (kUnitK / 16), x + unit * kUnitK);
    }
    if (whole * kUnitK == k) return;
    float tail[kUnitK] = {};
    for (int i = whole * kUnitK; i < k; ++i) tail[i - whole * kUnitK] = x[i];
    prepare_blocks(units + whole, kUnitK / 16, tail);
}

template <class V>
void prepare_row(std::byte* out, ActivationFormat format, float input_scale, const float* x, int k) {
    float* values = reinterpret_cast<float*>(out);
    switch (format) {
        case ActivationFormat::f32:
            map_row<V>(values, x, k, [](V value) { return value; });
            break;
        case ActivationFormat::bf16:
            map_row<V>(values, x, k, [](V value) { return V::round_bf16(value); });
            break;
        case ActivationFormat::fp8:
            map_row<V>(values, x, k, [=](V value) { return V::round_e4m3(value / V::set(input_scale)); });
            break;
        case ActivationFormat::fp8_group128:
            prepare_group128<V>(values, x, k);
            break;
        case ActivationFormat::bf16_block16:
            return prepare_units<V, Block16RowUnit>(
                out, x, k, [](Block16RowUnit* units, int blocks, const float* part) {
                    for (int block = 0; block < blocks; ++block) {
                        prepare_block16<V>(units[block / 4], block % 4, part + block * 16);
                    }
                });
        case ActivationFormat::nvfp4:
            return prepare_units<V, Nvfp4RowUnit>(out, x, k, [=](Nvfp4RowUnit* units, int blocks, const float* part) {
                prepare_nvfp4_blocks<V>(units, blocks, input_scale, part);
            });
        case ActivationFormat::int8:
            return prepare_int8<V>(out, x, k);
    }
    const int padded = static_cast<int>(padded_units<V>(k)) * kUnitK;
    for (int i = k; i < padded; ++i) values[i] = 0.0f;
}

template <class V>
void prepare_activation(std::byte* out, ActivationFormat format, float input_scale, const float* x, int64_t ldx,
                        int rows, int k) {
    const size_t row_bytes = activation_row_bytes<V>(format, k);
    for (int row = 0; row < rows; ++row, out += row_bytes, x += ldx) prepare_row<V>(out, format, input_scale, x, k);
}

template <class V>
float activation_value(const std::byte* row, ActivationFormat format, int k, int i) {
    const float* values = reinterpret_cast<const float*>(row);
    switch (format) {
        case ActivationFormat::f32:
        case ActivationFormat::bf16:
        case ActivationFormat::fp8:
            return values[i];
        case ActivationFormat::fp8_group128:
            return values[i] * values[padded_units<V>(k) * kUnitK + static_cast<size_t>(i / kGroupK)];
        case ActivationFormat::bf16_block16: {
            const Block16RowUnit& unit = reinterpret_cast<const Block16RowUnit*>(row)[i / kUnitK];
            return static_cast<float>(unit.values[i % kUnitK]) * unit.units[i % kUnitK / 16];
        }
        case ActivationFormat::nvfp4: {
            const Nvfp4RowUnit& unit = reinterpret_cast<const Nvfp4RowUnit*>(row)[i / kUnitK];
            int byte = 0;
            while (kCodeOrder[byte] != i % 8) ++byte;
            const int code = unit.codes[i % kUnitK / 8 * 8 + byte];
            return 0.5f * static_cast<float>(code) * unit.scales[i % kUnitK / 16];
        }
        case ActivationFormat::int8: {
            const float code = V::kByteDots ? static_cast<float>(reinterpret_cast<const int8_t*>(row)[i]) : values[i];
            return code * int8_row_end<V>(row, k).scale;
        }
    }
    return 0.0f;
}

}  // namespace colugo::kernels
