// Writes random schemas, one a line: write_schemas (schemas | parameters) COUNT. Those of tests are the same.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "sampling/schema_maker.h"

int main(int argc, char** argv) {
    const std::string_view kind = argc == 3 ? argv[1] : "";
    if (kind != "schemas" && kind != "parameters") {
        fmt::print(stderr, "write_schemas (schemas | parameters) COUNT\n");
        return 2;
    }
    const unsigned long count = std::strtoul(argv[2], nullptr, 10);
    for (unsigned long seed = 0; seed < count; ++seed) {
        colugo::testing::SchemaMaker maker(seed);
        fmt::print("{}\n", (kind == "schemas" ? maker.schema() : maker.parameters()).dump());
    }
}
