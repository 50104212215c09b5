#include "kernels/kernel_table.h"

#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "kernels/cpu_features.h"
#include "kernels/tier_tables.h"

namespace colugo::kernels {

namespace {

constexpr Tier kTiers[] = {Tier::scalar, Tier::avx2, Tier::avx512, Tier::avx512_bf16, Tier::amx};

// Not taken unless it is named: whether vdpbf16ps beats the f32 and integer multipliers of avx512 depends on the CPU,
// and no CPU where it does has been measured yet.
bool taken_by_default(Tier tier) {
    return tier != Tier::avx512_bf16;
}

// Built into this program, whatever the CPU.
bool tier_built(Tier tier) {
#if defined(__x86_64__)
    return tier <= Tier::amx;
#else
    return tier == Tier::scalar;
#endif
}

}  // namespace

size_t kv_tile_bytes(KvType type, int head_dim) {
    const size_t values = static_cast<size_t>(kPage) * static_cast<size_t>(head_dim);
    switch (type) {
        case KvType::f32:
            return values * 4;
        case KvType::bf16:
            return values * 2;
        case KvType::fp8:
            return values;
        case KvType::int8:
            return values + kPage * sizeof(float);
    }
    return 0;
}

const char* tier_name(Tier tier) {
    switch (tier) {
        case Tier::scalar:
            return "scalar";
        case Tier::avx2:
            return "avx2";
        case Tier::avx512:
            return "avx512";
        case Tier::avx512_bf16:
            return "avx512_bf16";
        case Tier::amx:
            return "amx";
    }
    return "unknown";
}

bool tier_available(Tier tier) {
    return tier_built(tier) && cpu_runs(tier);
}

const KernelTable& kernel_table(Tier tier) {
    COLUGO_CHECK(tier_available(tier));
    static const auto tables = [] {
        std::array<KernelTable, std::size(kTiers)> out{};
        for (Tier each : kTiers) {
            if (tier_available(each)) set_kernels(out[static_cast<size_t>(each)], each);
        }
        return out;
    }();
    return tables[static_cast<size_t>(tier)];
}

Tier select_tier() {
    const char* forced = std::getenv("COLUGO_FORCE_ISA");
    if (forced == nullptr || *forced == '\0') {
        Tier best = Tier::scalar;
        for (Tier tier : kTiers) {
            if (tier_available(tier) && taken_by_default(tier)) best = tier;
        }
        return best;
    }
    for (Tier tier : kTiers) {
        if (std::string_view(forced) != tier_name(tier)) continue;
        if (!tier_built(tier)) {
            fail(ErrorCode::unsupported, "COLUGO_FORCE_ISA={} is unsupported: this program was built without that tier",
                 forced);
        }
        if (!cpu_runs(tier)) {
            fail(ErrorCode::unsupported,
                 "COLUGO_FORCE_ISA={} is unsupported: this CPU or its operating system lacks instructions of that tier",
                 forced);
        }
        return tier;
    }
    fail(ErrorCode::invalid_argument,
         "COLUGO_FORCE_ISA={} is not a tier: expected scalar, avx2, avx512, avx512_bf16 or amx", forced);
}

bool attention_likes_int8(Tier tier) {
    return tier == Tier::avx512 || tier == Tier::avx512_bf16;
}

}  // namespace colugo::kernels
