// Some hundred prompts cut from the project's own files, two hundred tokens each, with drafts and without: the same
// tokens and the same bits of every logit. What was accepted is printed, mode by mode.
#include <fmt/format.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/model_text.h"
#include "engine/spec_harness.h"

namespace colugo::testing {
namespace {

using Tokens = std::vector<int32_t>;

constexpr size_t kPrompts = 576;  // every way to draw with every mode, with a prediction and without, six times
constexpr int64_t kReply = 200;
constexpr int64_t kContext = 640;
constexpr SpecMode kModes[] = {SpecMode::mtp, SpecMode::lookup, SpecMode::tree, SpecMode::automatic};

// Keeps a hash of each position's logits.
class Hashes : public RequestListener {
 public:
    void logits(int64_t /*first_position*/, TensorView rows) override {
        for (int64_t row = 0; row < rows.rows; ++row) {
            uint64_t hash = 0xcbf29ce484222325u;
            for (int64_t i = 0; i < rows.cols; ++i) {
                hash = (hash ^ std::bit_cast<uint32_t>(rows.f32(row)[i])) * 0x100000001b3u;
            }
            rows_.push_back(hash);
        }
    }
    void token(const DrawnToken& drawn) override { tokens_.push_back(drawn.token); }
    void finished(const RequestResult& result) override { result_ = result; }

    const Tokens& tokens() const { return tokens_; }
    const RequestResult& result() const { return result_; }
    // Of the last `count` positions.
    std::span<const uint64_t> last_rows(size_t count) const { return std::span(rows_).last(count); }
    size_t rows() const { return rows_.size(); }

 private:
    Tokens tokens_;
    std::vector<uint64_t> rows_;
    RequestResult result_;
};

std::string project_text() {
    std::vector<std::filesystem::path> files;
    for (const char* folder : {"docs", "src"}) {
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(std::filesystem::path(COLUGO_SOURCE_DIR) / folder)) {
            const std::string extension = entry.path().extension().string();
            if (extension == ".md" || extension == ".h" || extension == ".cpp") files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    std::ostringstream text;
    for (const auto& file : files) text << std::ifstream(file).rdbuf();
    return text.str();
}

std::vector<Request> requests() {
    const ModelText model_text((std::filesystem::path(COLUGO_FIXTURES_DIR) / spec_model()).string());
    const std::string text = project_text();
    const std::vector<DrawnBy> ways = ways_to_draw();
    std::vector<Request> all;
    for (size_t i = 0; i < kPrompts; ++i) {
        Tokens tokens = model_text.tokenizer().encode(std::string_view(text).substr(i * (text.size() / kPrompts), 3000),
                                                      ControlTokens::plain_text);
        const size_t prompt = std::min<size_t>(40 + i % 350, tokens.size() / 2);
        tokens.resize(std::min(tokens.size(), prompt + kReply));
        Request request;
        request.prompt.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt));
        // Some are told what stands behind the prompt in the file.
        if (i / 48 % 2 == 0)
            request.prediction.assign(tokens.begin() + static_cast<std::ptrdiff_t>(prompt), tokens.end());
        request.max_tokens = kReply;
        request.sampling = ways[i % ways.size()].params;
        request.sampling.seed = i;
        request.wants_logits = true;
        all.push_back(std::move(request));
    }
    return all;
}

std::vector<std::shared_ptr<Hashes>> run(const std::vector<Request>& requests, const SpecParams& spec) {
    EngineHarness harness({.fixture = spec_model(),
                           .max_rows = 128,
                           .ctx_size = kContext,
                           .cached_sequences = 12.0,
                           .with_mtp = true,
                           .spec = spec});
    std::vector<std::shared_ptr<Hashes>> heard;
    for (const Request& request : requests) {
        heard.push_back(std::make_shared<Hashes>());
        harness.engine().submit(request, heard.back());
    }
    harness.finish();
    return heard;
}

TEST(SpecLong, GivesWhatPlainDecodingGives) {
    std::vector<Request> asked = requests();
    const auto plain = run(asked, {});
    for (size_t i = 0; i < asked.size(); ++i) asked[i].spec = SpecParams{.mode = kModes[i / 12 % 4]};
    const auto drafting = run(asked, {.mode = SpecMode::automatic});
    DraftTally tallies[4];
    size_t tokens = 0;
    for (size_t i = 0; i < asked.size(); ++i) {
        ASSERT_EQ(drafting[i]->tokens(), plain[i]->tokens()) << "prompt " << i;
        const auto rows = drafting[i]->last_rows(std::min(drafting[i]->rows(), plain[i]->rows()));
        ASSERT_TRUE(std::ranges::equal(rows, plain[i]->last_rows(rows.size()))) << "prompt " << i;
        ASSERT_GE(rows.size(), static_cast<size_t>(kReply));
        tokens += drafting[i]->tokens().size();
        tallies[i / 12 % 4].add(drafting[i]->result());
    }
    EXPECT_EQ(tokens, kPrompts * kReply);
    for (size_t mode = 0; mode < 4; ++mode) {
        const char* const names[] = {"mtp", "lookup", "tree", "auto"};
        fmt::print("{}: {} of {} drafts accepted\n", names[mode], tallies[mode].accepted, tallies[mode].drafted);
        EXPECT_GT(tallies[mode].accepted, 0);
        EXPECT_GT(tallies[mode].rejected(), 0);
    }
}

}  // namespace
}  // namespace colugo::testing
