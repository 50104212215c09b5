// Everything the CPU backend asks of an instruction set: pure functions on raw pointers, one table per tier, chosen
// once.
//
// The row law binds every function here: what it writes for a row is the same floating-point sequence whatever other
// rows are in the call. All arithmetic is fp32 unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_weight.h"

namespace colugo::kernels {

enum class Tier : uint8_t { scalar, avx2, avx512, avx512_bf16, amx };

inline constexpr int kPage = 32;  // positions in a page

// What keys and values are stored as. int8: each position's key and value of a head are 8-bit multiples of a scale of
// their own, amax / 127.
enum class KvType : uint8_t { f32, bf16, fp8, int8 };

struct MatmulArgs {
    float* y;                     // [rows, ldy]
    int64_t ldy;                  // in floats
    const std::byte* activation;  // [rows] rows of activation_row_bytes(weight->activation, weight->k)
    int rows;
    const PackedWeight* weight;
    bool add;  // y += product instead of y = product
};

// The running softmax of some query rows over pages: out is not yet divided by sum. A fresh row has max = -infinity and
// sum = out = 0. Rows are (token, query head) pairs that read the same key/value head.
struct AttentionRows {
    int rows;
    int head_dim;
    const std::byte* queries;  // [rows] rows of activation_row_bytes(attention_query_format(kv type), head_dim)
    float* max;                // [rows] of the scores x log2 e
    float* sum;                // [rows]
    float* out;                // [rows, head_dim]
};

// Pages that the running softmax takes in one step, aligned to that many. Those of int8 have one unit for their
// weights, and integers are summed exactly over all of them.
inline constexpr int kMaxPagesPerStep = 4;
constexpr int pages_per_step(KvType type) {
    return type == KvType::int8 ? kMaxPagesPerStep : 1;
}

// The pages of one step. A page that no row sees may be left out: it would change no row's numbers.
struct AttentionPages {
    KvType type;
    int pages;  // 1..pages_per_step(type)
    // One head's tiles in the panel layout: matrices [32, head_dim] and [head_dim, 32]. int8 has four k to a column,
    // and behind the matrix the scales of the 32 positions, f32.
    const std::byte* keys[kMaxPagesPerStep];
    const std::byte* values[kMaxPagesPerStep];
    float score_scale;   // multiplies q . k: head_dim^-1/2 x key scale
    int begin;           // first column any row may see; page i's columns are 32 i .. 32 i + 31
    const int32_t* end;  // [rows] one past the last column the row may see; end > begin for every row
};

// Rows of one page of one sequence in a Gated DeltaNet layer: one key head and the `value_heads` value heads that share
// it. A row occupies a slot: 0..31 its column in the page, 32..63 a draft node. Slots a row may see are its committed
// page rows and its ancestors. For row t with visible slots j (in ascending order):
//   G_t     = g_t + G_parent                      parent = highest visible slot; 0 where there is none
//   delta_t = beta_t (v_t - e^{G_t} S'k_t - sum_j e^{G_t - G_j} (k_j . k_t) delta_j)
//   o_t     = e^{G_t} S'q_t + sum_j e^{G_t - G_j} (k_j . q_t) delta_j + (k_t . q_t) delta_t
// Key tiles are f32 panels [2][key_dim][16]: a dword column per slot.
struct GdnPage {
    int rows;       // 1..32, in topological order
    int key_dim;    // multiple of 16, at most 256
    int value_dim;  // multiple of 16, at most 256
    int value_heads;
    const int32_t* slots;     // [rows]
    const uint64_t* visible;  // [rows] bit j: slot j is visible; own bit clear
    const float* q;           // [rows, ld_qk] normalised and scaled
    const float* k;           // [rows, ld_qk] normalised
    int64_t ld_qk;
    const float* v;  // [rows, ld_v]: value_heads x value_dim
    int64_t ld_v;
    const float* beta;  // [rows, ld_gate]: value_heads
    const float* g;     // [rows, ld_gate]: value_heads; log decay, <= 0
    int64_t ld_gate;
    const float* state;    // S at the border: [value_heads] x panels [value_dim / 16][key_dim][16]
    float* keys[2];        // page, drafts: [2][key_dim][16]; written at the rows' slots
    float* deltas[2];      // page, drafts: [value_heads][32][value_dim]; written
    float* log_decays[2];  // page, drafts: G, [value_heads][32]; written
    float* out;            // [rows, ld_out]: value_heads x value_dim
    int64_t ld_out;
};

struct KernelTable {
    Tier tier;

    // The form a weight's activations should take on this tier where the checkpoint asks for `wanted`: `wanted`, or one
    // of the same meaning that is faster here (nvfp4 x bf16: bf16_block16). A weight keeps it in
    // PackedWeight::activation.
    ActivationFormat (*matmul_activation)(WeightFormat weight, ActivationFormat wanted);
    // Bytes of one prepared activation row, a multiple of 64.
    size_t (*activation_row_bytes)(ActivationFormat format, int k);
    // Rounds or quantizes `rows` rows x[row * ldx + 0..k) for the multiplier; padding up to the unit is zero.
    void (*prepare_activation)(std::byte* out, ActivationFormat format, float input_scale, const float* x, int64_t ldx,
                               int rows, int k);
    // The value of prepared element i: code x block scale, without input_scale. For tests.
    float (*activation_value)(const std::byte* row, ActivationFormat format, int k, int i);
    // Columns of panels [panel_begin, panel_end). scratch: kMatmulScratchBytes, 64-byte aligned.
    void (*matmul)(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch);

    // out[i] = x[i] rsqrt(mean(x^2) + eps) (1 + weight[i])
    void (*rms_norm)(float* out, const float* x, const float* weight, int n, float eps);
    // out[i] = x[i] rsqrt(mean(x^2) + eps) weight[i] silu(gate[i])
    void (*gated_rms_norm)(float* out, const float* x, const float* weight, const float* gate, int n, float eps);
    // out[i] = x[i] rsqrt(sum(x^2) + eps) scale
    void (*l2_norm)(float* out, const float* x, int n, float eps, float scale);
    // Rotates pairs (i, i + rotary_dim / 2) in place. cos_sin: [2][rotary_dim / 2]
    void (*rope)(float* x, const float* cos_sin, int rotary_dim);
    // out[i] = silu(gate[i]) up[i]
    void (*silu_mul)(float* out, const float* gate, const float* up, int n);
    // x[i] *= sigmoid(gate[i])
    void (*sigmoid_mul)(float* x, const float* gate, int n);
    // out[i] = silu(sum_j weight[j][i] inputs[j][i]), j = 0..taps-1, oldest first. weight: [taps][n]
    void (*conv_silu)(float* out, const float* const* inputs, const float* weight, int taps, int n);
    // beta = sigmoid(b); g = neg_exp_a_log softplus(a + dt_bias)
    void (*gdn_gates)(float* beta, float* g, const float* b, const float* a, const float* neg_exp_a_log,
                      const float* dt_bias, int n);
    // In place, to the nearest bf16.
    void (*round_bf16)(float* x, int n);

    // Moves each block's scale code from that of its largest magnitude to the candidate around it with the least
    //   sum importance[i] (w[i] - e2m1(w[i] / s) s)^2,   s = e4m3_values[code] global_scale
    // and adds the least sums to *error. codes: [k / 16] e4m3, in and out, 1..0x7e; e4m3_values: [128], of the codes.
    // The same on every tier.
    void (*nvfp4_scales)(uint8_t* codes, double* error, const float* w, const float* importance, int k,
                         float global_scale, const float* e4m3_values);

    // Writes one position of one head into its tiles: key[0..head_dim) / key_scale and value / value_scale, rounded to
    // the type (fp8 saturates). Scales are 1 but for fp8.
    void (*store_kv)(KvType type, std::byte* keys, std::byte* values, int column, const float* key, const float* value,
                     int head_dim, float key_scale, float value_scale);
    ActivationFormat (*attention_query_format)(KvType type);
    // Folds one step's pages into the rows' running softmax. scratch: kAttentionScratchBytes.
    void (*attention_pages)(const AttentionRows& rows, const AttentionPages& pages, std::byte* scratch);
    // Folds the running softmax `part` of the same rows over later pages into `total`.
    void (*attention_merge)(const AttentionRows& total, const AttentionRows& part);

    // scratch: kGdnScratchBytes.
    void (*gdn_page)(const GdnPage& page, std::byte* scratch);
    // S at the next border from a full page, one value head; state_out may be state_in:
    //   S <- e^{G_31} S + sum_j e^{G_31 - G_j} k_j delta_j'
    void (*gdn_advance)(float* state_out, const float* state_in, const float* keys, const float* deltas,
                        const float* log_decays, int key_dim, int value_dim, std::byte* scratch);
};

inline constexpr size_t kMatmulScratchBytes = size_t{256} << 10;
inline constexpr size_t kAttentionScratchBytes = size_t{256} << 10;
inline constexpr size_t kGdnScratchBytes = size_t{256} << 10;
inline constexpr int kMaxHeadDim = 256;
inline constexpr int kMaxAttentionRows = 128;  // rows of one attention_pages call

// Bytes of one head's key or value tile: 32 positions x head_dim.
size_t kv_tile_bytes(KvType type, int head_dim);

const char* tier_name(Tier tier);
// Tiers this program was built with and this CPU can run, slowest first. scalar is always there.
bool tier_available(Tier tier);
const KernelTable& kernel_table(Tier tier);
// The fastest available tier, or the one COLUGO_FORCE_ISA names (empty counts as unset). avx512_bf16 has to be named:
// where avx512 is faster is not known. Throws invalid_argument for an unknown name and unsupported for a tier this CPU
// lacks.
Tier select_tier();
// Whether attention is fastest over int8 keys and values: where bytes are multiplied (VNNI) and nothing multiplies
// tiles.
bool attention_likes_int8(Tier tier);

}  // namespace colugo::kernels
