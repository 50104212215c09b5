// An Error is judged by its code and by what its sentence names.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "base/error.h"

namespace colugo::testing {

// The sentence of the Error `body` throws; a failure of the test when it throws none or one of another code.
template <typename Body>
std::string error_of(ErrorCode code, Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "no error was thrown";
    return "";
}

}  // namespace colugo::testing

#define EXPECT_ERROR(code, words, statement) \
    EXPECT_THAT(::colugo::testing::error_of((code), [&] { static_cast<void>(statement); }), ::testing::HasSubstr(words))
