// The grid form against the plain recurrence in double precision (S <- e^g S; delta = beta (v - S'k); S <- S + k
// delta'; o = S'q), and the row law bit for bit.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/buffer.h"
#include "kernels/each_tier.h"

namespace colugo::kernels {
namespace {

struct Shape {
    int key_dim;
    int value_dim;
    int value_heads;
    size_t state() const { return static_cast<size_t>(key_dim) * static_cast<size_t>(value_dim); }
    size_t outputs() const { return static_cast<size_t>(value_dim) * static_cast<size_t>(value_heads); }
};

// The inputs of some tokens: keys and queries normalised as the model does, decays from none to total.
struct Tokens {
    Tokens(const Shape& shape, int count, uint32_t seed) {
        Random random(seed);
        const auto tokens = static_cast<size_t>(count);
        const auto key_dim = static_cast<size_t>(shape.key_dim);
        const auto heads = static_cast<size_t>(shape.value_heads);
        k = random.values(tokens * key_dim);
        q = random.values(tokens * key_dim);
        // Keys lean towards one direction, so that ancestors weigh in every delta.
        for (size_t i = 0; i < k.size(); ++i) k[i] += i % key_dim == 3 ? 3.0f : 0.0f;
        for (size_t token = 0; token < tokens; ++token) {
            normalise(k.data() + token * key_dim, key_dim, 1.0f);
            normalise(q.data() + token * key_dim, key_dim, 1.0f / std::sqrt(static_cast<float>(key_dim)));
        }
        v = random.values(tokens * shape.outputs(), -2.0f, 2.0f);
        beta = random.values(tokens * heads, 0.05f, 0.99f);
        g = random.values(tokens * heads, -0.4f, 0.0f);
        for (size_t i = 0; i < g.size(); i += 17) g[i] = 0.0f;
        for (size_t i = 29; i < g.size(); i += 61) g[i] = -12.0f;
    }

    static void normalise(float* x, size_t n, float scale) {
        float sum = 1e-6f;
        for (size_t i = 0; i < n; ++i) sum += x[i] * x[i];
        for (size_t i = 0; i < n; ++i) x[i] *= scale / std::sqrt(sum);
    }

    std::vector<float> q, k, v, beta, g;
};

// The recurrence, one value head after the other.
class Recurrence {
 public:
    explicit Recurrence(const Shape& shape)
        : shape_(shape), state_(shape.state() * static_cast<size_t>(shape.value_heads)) {}

    std::vector<double> step(const Tokens& tokens, int token) {
        std::vector<double> out(shape_.outputs());
        for (int head = 0; head < shape_.value_heads; ++head) {
            const auto at = static_cast<size_t>(token * shape_.value_heads + head);
            const auto key_dim = static_cast<size_t>(shape_.key_dim);
            const auto value_dim = static_cast<size_t>(shape_.value_dim);
            const float* k = tokens.k.data() + static_cast<size_t>(token) * key_dim;
            const float* q = tokens.q.data() + static_cast<size_t>(token) * key_dim;
            double* state = state_.data() + static_cast<size_t>(head) * shape_.state();
            for (size_t i = 0; i < shape_.state(); ++i) state[i] *= std::exp(static_cast<double>(tokens.g[at]));
            for (size_t column = 0; column < value_dim; ++column) {
                double product = 0;
                for (size_t i = 0; i < key_dim; ++i) product += state[i * value_dim + column] * k[i];
                const double delta = tokens.beta[at] * (tokens.v[at * value_dim + column] - product);
                double sum = 0;
                for (size_t i = 0; i < key_dim; ++i) {
                    state[i * value_dim + column] += k[i] * delta;
                    sum += state[i * value_dim + column] * q[i];
                }
                out[static_cast<size_t>(head) * value_dim + column] = sum;
            }
        }
        return out;
    }
    double state(int head, int key, int column) const {
        return state_[static_cast<size_t>((head * shape_.key_dim + key) * shape_.value_dim + column)];
    }

 private:
    Shape shape_;
    std::vector<double> state_;  // [value_heads, key_dim, value_dim]
};

// One sequence's layer state as an engine keeps it. Slots nobody wrote hold NaN, so that a read of one shows.
class Sequence {
 public:
    Sequence(const KernelTable& table, const Shape& shape)
        : table_(table), shape_(shape), scratch_(kGdnScratchBytes), state_(shape.state() * heads()) {
        for (int part = 0; part < 2; ++part) {
            constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
            keys_[part].assign(size_t{kPage} * static_cast<size_t>(shape.key_dim), kNan);
            deltas_[part].assign(size_t{kPage} * shape.outputs(), kNan);
            log_decays_[part].assign(size_t{kPage} * heads(), kNan);
        }
    }

    // Runs tokens through slots; their outputs go to out[token].
    void run(const Tokens& tokens, const std::vector<int>& ids, const std::vector<int32_t>& slots,
             const std::vector<uint64_t>& visible, std::vector<std::vector<float>>& out) {
        Tokens rows = gather(tokens, ids);
        // Strides wider than the rows, as a slice of a wider projection has.
        const auto count = static_cast<int>(ids.size());
        const int64_t ld_out = static_cast<int64_t>(shape_.outputs()) + 16;
        std::vector<float> outputs(ids.size() * static_cast<size_t>(ld_out));
        GdnPage page{};
        page.rows = count;
        page.key_dim = shape_.key_dim;
        page.value_dim = shape_.value_dim;
        page.value_heads = shape_.value_heads;
        page.slots = slots.data();
        page.visible = visible.data();
        page.q = rows.q.data();
        page.k = rows.k.data();
        page.ld_qk = shape_.key_dim;
        page.v = rows.v.data();
        page.ld_v = static_cast<int64_t>(shape_.outputs());
        page.beta = rows.beta.data();
        page.g = rows.g.data();
        page.ld_gate = shape_.value_heads;
        page.state = state_.data();
        for (int part = 0; part < 2; ++part) {
            page.keys[part] = keys_[part].data();
            page.deltas[part] = deltas_[part].data();
            page.log_decays[part] = log_decays_[part].data();
        }
        page.out = outputs.data();
        page.ld_out = ld_out;
        table_.gdn_page(page, scratch_.data());
        for (size_t row = 0; row < ids.size(); ++row) {
            const float* values = outputs.data() + row * static_cast<size_t>(ld_out);
            out[static_cast<size_t>(ids[row])].assign(values, values + shape_.outputs());
        }
    }

    // Appends tokens [begin, end) to the page, `chunk` at a time, advancing S at borders.
    void append(const Tokens& tokens, int begin, int end, int chunk, std::vector<std::vector<float>>& out) {
        for (int first = begin; first < end;) {
            const int column = first % kPage;
            const int last = std::min({end, first + chunk, first - column + kPage});
            std::vector<int> ids;
            std::vector<int32_t> slots;
            std::vector<uint64_t> visible;
            for (int token = first; token < last; ++token) {
                ids.push_back(token);
                slots.push_back(token % kPage);
                visible.push_back((uint64_t{1} << token % kPage) - 1);
            }
            run(tokens, ids, slots, visible, out);
            first = last;
            if (last % kPage == 0) advance();
        }
    }

    void advance() {
        for (size_t head = 0; head < heads(); ++head) {
            float* state = state_.data() + head * shape_.state();
            table_.gdn_advance(state, state, keys_[0].data(),
                               deltas_[0].data() + head * kPage * static_cast<size_t>(shape_.value_dim),
                               log_decays_[0].data() + head * kPage, shape_.key_dim, shape_.value_dim, scratch_.data());
        }
    }

    float state(int head, int key, int column) const {
        const int panel = column / kPanel;
        return state_[static_cast<size_t>(head) * shape_.state() +
                      static_cast<size_t>((panel * shape_.key_dim + key) * kPanel + column % kPanel)];
    }
    const std::vector<float>& states() const { return state_; }
    const float* delta(int slot, size_t head) const {
        return deltas_[slot / kPage].data() +
               (head * kPage + static_cast<size_t>(slot % kPage)) * static_cast<size_t>(shape_.value_dim);
    }
    const std::vector<float>& keys() const { return keys_[0]; }
    const std::vector<float>& deltas() const { return deltas_[0]; }
    const std::vector<float>& log_decays() const { return log_decays_[0]; }

 private:
    size_t heads() const { return static_cast<size_t>(shape_.value_heads); }

    Tokens gather(const Tokens& tokens, const std::vector<int>& ids) const {
        Tokens rows = tokens;
        const auto pick = [&](const std::vector<float>& from, std::vector<float>& to, size_t width) {
            to.clear();
            for (int id : ids) {
                const auto first = from.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(id) * width);
                to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(width));
            }
        };
        pick(tokens.q, rows.q, static_cast<size_t>(shape_.key_dim));
        pick(tokens.k, rows.k, static_cast<size_t>(shape_.key_dim));
        pick(tokens.v, rows.v, shape_.outputs());
        pick(tokens.beta, rows.beta, heads());
        pick(tokens.g, rows.g, heads());
        return rows;
    }

    const KernelTable& table_;
    Shape shape_;
    Buffer scratch_;
    std::vector<float> state_;
    std::vector<float> keys_[2], deltas_[2], log_decays_[2];
};

// Outputs are of order 1; fp32 keeps about six digits of them over the lengths used here. A missing decay, beta or
// ancestor shows in the first.
constexpr double kTolerance = 3e-5;

void expect_near(const std::vector<float>& out, const std::vector<double>& expected, const std::string& what) {
    ASSERT_EQ(out.size(), expected.size()) << what;
    for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], kTolerance) << what << ", output " << i;
}

class GatedDeltaNetTest : public EachTier {
 protected:
    // A sequence that holds the first `committed` tokens.
    Sequence committed_sequence(const Tokens& tokens, const Shape& shape, int committed) const {
        Sequence sequence(table, shape);
        std::vector<std::vector<float>> out(static_cast<size_t>(committed));
        sequence.append(tokens, 0, committed, 32, out);
        return sequence;
    }
};

TEST_P(GatedDeltaNetTest, EqualsTheRecurrenceOverSeveralBorders) {
    constexpr int kTokens = 150;
    for (const Shape& shape : {Shape{128, 128, 1}, Shape{128, 128, 3}, Shape{16, 48, 2}, Shape{256, 256, 1}}) {
        const Tokens tokens(shape, kTokens, 1);
        Recurrence recurrence(shape);
        Sequence sequence(table, shape);
        std::vector<std::vector<float>> out(kTokens);
        sequence.append(tokens, 0, kTokens, 32, out);
        for (int token = 0; token < kTokens; ++token) {
            const std::vector<double> expected = recurrence.step(tokens, token);
            expect_near(out[static_cast<size_t>(token)], expected, "token " + std::to_string(token));
            if (token == 127) {
                for (int i = 0; i < shape.key_dim; i += 7) {
                    const int head = i % shape.value_heads;
                    const int column = (5 * i) % shape.value_dim;
                    ASSERT_NEAR(sequence.state(head, i, column), recurrence.state(head, i, column), kTolerance);
                }
            }
        }
    }
}

TEST_P(GatedDeltaNetTest, EveryLength) {
    const Shape shape{64, 32, 2};
    const Tokens tokens(shape, 70, 2);
    for (int length = 1; length <= 70; ++length) {
        Recurrence recurrence(shape);
        Sequence sequence(table, shape);
        std::vector<std::vector<float>> out(70);
        sequence.append(tokens, 0, length, 32, out);
        for (int token = 0; token < length; ++token) {
            expect_near(out[static_cast<size_t>(token)], recurrence.step(tokens, token), std::to_string(length));
        }
    }
}

TEST_P(GatedDeltaNetTest, ChunkingDoesNotChangeABit) {
    constexpr int kTokens = 140;
    const Shape shape{128, 128, 3};
    const Tokens tokens(shape, kTokens, 3);
    Sequence alone(table, shape);
    std::vector<std::vector<float>> expected(kTokens);
    alone.append(tokens, 0, kTokens, 1, expected);
    for (int chunk : {2, 3, 5, 31, 32}) {
        Sequence sequence(table, shape);
        std::vector<std::vector<float>> out(kTokens);
        sequence.append(tokens, 0, kTokens, chunk, out);
        for (size_t token = 0; token < kTokens; ++token) {
            ASSERT_TRUE(same_bits(out[token].data(), expected[token].data(), out[token].size()))
                << "chunk " << chunk << ", token " << token;
        }
        ASSERT_TRUE(same_bits(sequence.states().data(), alone.states().data(), alone.states().size()));
        ASSERT_TRUE(same_bits(sequence.keys().data(), alone.keys().data(), alone.keys().size()));
        ASSERT_TRUE(same_bits(sequence.deltas().data(), alone.deltas().data(), alone.deltas().size()));
    }
}

// A random draft tree under the first `committed` tokens: node i is token committed + i in slot 32 + i.
struct Tree {
    Tree(int committed_tokens, int nodes, Random& random)
        : committed(committed_tokens), parent(static_cast<size_t>(nodes), -1) {
        const uint64_t page = (uint64_t{1} << committed % kPage) - 1;
        for (int node = 0; node < nodes; ++node) {
            const int above = node == 0 ? -1 : random.index(node);
            parent[static_cast<size_t>(node)] = above;
            slots.push_back(kPage + node);
            visible.push_back(above < 0 ? page : visible[static_cast<size_t>(above)] | uint64_t{1} << (kPage + above));
        }
    }
    std::vector<int> path(int node) const {
        std::vector<int> out;
        for (int at = node; at >= 0; at = parent[static_cast<size_t>(at)]) out.insert(out.begin(), committed + at);
        return out;
    }

    int committed;
    std::vector<int> parent;
    std::vector<int32_t> slots;
    std::vector<uint64_t> visible;
};

TEST_P(GatedDeltaNetTest, ATreeEqualsTheRecurrenceAlongEachBranch) {
    Random random(4);
    for (int committed : {0, 1, 17, 31, 45}) {
        for (int nodes : {1, 2, 7, 32}) {
            const Shape shape{64, 64, 3};
            const Tree tree(committed, nodes, random);
            const Tokens tokens(shape, committed + nodes, 5);
            std::vector<std::vector<float>> out(static_cast<size_t>(committed + nodes));
            Sequence sequence = committed_sequence(tokens, shape, committed);
            std::vector<int> ids;
            for (int node = 0; node < nodes; ++node) ids.push_back(committed + node);
            sequence.run(tokens, ids, tree.slots, tree.visible, out);
            for (int node = 0; node < nodes; ++node) {
                Recurrence recurrence(shape);
                for (int token = 0; token < committed; ++token) recurrence.step(tokens, token);
                std::vector<double> expected;
                for (int token : tree.path(node)) expected = recurrence.step(tokens, token);
                expect_near(out[static_cast<size_t>(committed + node)], expected, "node " + std::to_string(node));
            }
        }
    }
}

// What a draft node computed is what its token computes when it is appended to the page, alone or in a chunk, and what
// it computes when the tree arrives in several calls.
TEST_P(GatedDeltaNetTest, ADraftSlotGivesTheBitsOfAPageSlot) {
    Random random(6);
    const Shape shape{128, 64, 2};
    for (int committed : {0, 3, 20}) {
        const int nodes = 12;
        const Tree tree(committed, nodes, random);
        const Tokens tokens(shape, committed + nodes, 7);
        const auto count = static_cast<size_t>(committed + nodes);
        std::vector<std::vector<float>> out(count), later(count), pieces(count);
        Sequence sequence = committed_sequence(tokens, shape, committed);
        Sequence piecewise = committed_sequence(tokens, shape, committed);
        std::vector<int> ids;
        for (int node = 0; node < nodes; ++node) ids.push_back(committed + node);
        sequence.run(tokens, ids, tree.slots, tree.visible, out);
        for (int node = 0; node < nodes; ++node) {
            const auto at = static_cast<size_t>(node);
            piecewise.run(tokens, {ids[at]}, {tree.slots[at]}, {tree.visible[at]}, pieces);
            ASSERT_TRUE(same_bits(pieces[count - nodes + at].data(), out[count - nodes + at].data(), shape.outputs()));
        }
        for (int node = 0; node < nodes; ++node) {
            Sequence linear = committed_sequence(tokens, shape, committed);
            const std::vector<int> path = tree.path(node);
            std::vector<int32_t> slots;
            std::vector<uint64_t> visible;
            for (size_t i = 0; i < path.size(); ++i) {
                slots.push_back(committed + static_cast<int>(i));
                visible.push_back((uint64_t{1} << slots.back()) - 1);
            }
            linear.run(tokens, path, slots, visible, later);
            const auto token = static_cast<size_t>(path.back());
            ASSERT_TRUE(same_bits(later[token].data(), out[token].data(), shape.outputs())) << "node " << node;
            for (size_t head = 0; head < 2; ++head) {
                ASSERT_TRUE(same_bits(linear.delta(slots.back(), head), sequence.delta(kPage + node, head),
                                      static_cast<size_t>(shape.value_dim)));
            }
        }
    }
}

TEST_P(GatedDeltaNetTest, AdvanceInPlaceEqualsOutOfPlace) {
    const Shape shape{128, 128, 1};
    const Tokens tokens(shape, 32, 8);
    Sequence sequence(table, shape);
    std::vector<std::vector<float>> out(32);
    sequence.append(tokens, 0, 32, 32, out);
    Random random(9);
    std::vector<float> state = random.values(shape.state());
    std::vector<float> advanced(state.size(), std::numeric_limits<float>::quiet_NaN());
    const Buffer scratch(kGdnScratchBytes);
    for (float* target : {advanced.data(), state.data()}) {
        table.gdn_advance(target, state.data(), sequence.keys().data(), sequence.deltas().data(),
                          sequence.log_decays().data(), shape.key_dim, shape.value_dim, scratch.data());
    }
    EXPECT_TRUE(same_bits(state.data(), advanced.data(), state.size()));
}

COLUGO_EACH_TIER(GatedDeltaNetTest);

}  // namespace
}  // namespace colugo::kernels
