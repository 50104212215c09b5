#include "kernels/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>

namespace colugo::kernels {

#if defined(__x86_64__)

namespace {

struct CpuidLeaf {
    uint32_t eax = 0;
    uint32_t ebx = 0;
    uint32_t ecx = 0;
    uint32_t edx = 0;
};

// All zero for a leaf or subleaf the CPU does not have.
CpuidLeaf cpuid(uint32_t leaf, uint32_t subleaf) {
    CpuidLeaf out;
    if (!__get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx)) return {};
    return out;
}

bool has_bits(uint64_t value, uint64_t bits) {
    return (value & bits) == bits;
}

// XCR0: the register files the operating system saves on a context switch.
uint64_t saved_registers() {
    if (!has_bits(cpuid(1, 0).ecx, bit_OSXSAVE)) return 0;
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

constexpr uint64_t kSavesYmm = 0x6;         // XMM, YMM
constexpr uint64_t kSavesZmm = 0xe6;        // and opmask, ZMM 0-15 upper halves, ZMM 16-31
constexpr uint64_t kSavesTiles = 3u << 17;  // TILECFG, TILEDATA

bool has_avx2() {
    return has_bits(saved_registers(), kSavesYmm) && has_bits(cpuid(1, 0).ecx, bit_AVX | bit_FMA | bit_F16C) &&
           has_bits(cpuid(7, 0).ebx, bit_AVX2);
}

bool has_avx512() {
    constexpr uint32_t kNeeded = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    constexpr uint32_t kVnni = 1u << 11;
    return has_avx2() && has_bits(saved_registers(), kSavesZmm) && has_bits(cpuid(7, 0).ebx, kNeeded) &&
           has_bits(cpuid(7, 0).ecx, kVnni);
}

bool has_avx512_bf16() {
    constexpr uint32_t kBf16 = 1u << 5;
    return has_avx512() && has_bits(cpuid(7, 1).eax, kBf16);
}

// Linux hands tile registers out on request (the state is 8 KiB a thread); the leave covers threads made later.
bool request_tiles() {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool has_amx() {
    constexpr uint32_t kTileBf16Int8 = 1u << 22 | 1u << 24 | 1u << 25;
    static const bool available = has_avx512_bf16() && has_bits(saved_registers(), kSavesTiles) &&
                                  has_bits(cpuid(7, 0).edx, kTileBf16Int8) && request_tiles();
    return available;
}

}  // namespace

bool cpu_runs(Tier tier) {
    switch (tier) {
        case Tier::scalar:
            return true;
        case Tier::avx2:
            return has_avx2();
        case Tier::avx512:
            return has_avx512();
        case Tier::avx512_bf16:
            return has_avx512_bf16();
        case Tier::amx:
            return has_amx();
    }
    return false;
}

#else

bool cpu_runs(Tier tier) {
    return tier == Tier::scalar;
}

#endif

}  // namespace colugo::kernels
