// Random schemas of every supported keyword.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>

namespace colugo::testing {

class SchemaMaker {
 public:
    explicit SchemaMaker(uint64_t seed) : random_(seed) {}

    // A whole schema, with definitions that refer to themselves.
    nlohmann::ordered_json schema();
    // The same, of an object.
    nlohmann::ordered_json parameters();

 private:
    using Json = nlohmann::ordered_json;

    uint64_t pick(uint64_t count) { return random_() % count; }
    bool toss() { return pick(2) == 0; }
    Json definitions();
    Json any(int depth);
    Json string();
    Json integer();
    Json array(int depth);
    Json object(int depth, const char* prefix);
    Json joined(int depth);
    Json value();

    std::mt19937_64 random_;
};

}  // namespace colugo::testing
