// tokenize_lines TOKENIZER_JSON: reads JSON strings, one a line, and writes the ids of each as a JSON array, for
// comparison with another tokenizer. With --time it encodes all lines several times and writes the speed instead.
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void report_speed(const colugo::Tokenizer& tokenizer, const std::vector<std::string>& texts) {
    size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    double best = 1e30;
    size_t tokens = 0;
    for (int round = 0; round < 5; ++round) {
        tokens = 0;
        const auto start = Clock::now();
        for (const std::string& text : texts) tokens += tokenizer.encode(text).size();
        best = std::min(best, seconds_since(start));
    }
    std::printf("%zu texts, %zu bytes, %zu tokens: %.1f MB/s\n", texts.size(), bytes, tokens,
                static_cast<double>(bytes) / 1e6 / best);
}

int run(int argc, char** argv) {
    if (argc != 2 && !(argc == 3 && std::string(argv[2]) == "--time")) {
        std::fprintf(stderr, "usage: tokenize_lines TOKENIZER_JSON [--time] < JSON_LINES\n");
        return 2;
    }
    const auto start = Clock::now();
    const colugo::Tokenizer tokenizer = colugo::Tokenizer::from_file(argv[1]);
    std::fprintf(stderr, "loaded in %.2f s\n", seconds_since(start));
    for (const std::string& notice : tokenizer.notices()) std::fprintf(stderr, "%s\n", notice.c_str());
    std::ios::sync_with_stdio(false);
    std::vector<std::string> texts;
    for (std::string line; std::getline(std::cin, line);) {
        texts.push_back(nlohmann::json::parse(line).get<std::string>());
        if (argc == 2) std::cout << nlohmann::json(tokenizer.encode(texts.back())).dump() << '\n';
    }
    if (argc == 3) report_speed(tokenizer, texts);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
