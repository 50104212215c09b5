#include "bench/bfcl_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "bench/bfcl_made_up_data.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using testing::MadeUpBfcl;
using testing::TempFolder;

void copy_data(const std::string& from, const std::string& to) {
    std::filesystem::create_directories(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

// The environment variable as it was, when the test ends.
class Variable {
 public:
    Variable(const char* name, const std::string& value) : name_(name) {
        const char* old = getenv(name);
        had_ = old != nullptr;
        if (had_) old_ = old;
        setenv(name, value.c_str(), 1);
    }
    ~Variable() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
    const char* name_;
    bool had_ = false;
    std::string old_;
};

TEST(BfclFolder, IsFoundInAFolderAndInAnEnvironmentOfPython) {
    const MadeUpBfcl data(1);
    const TempFolder python;
    const std::string old = python.path() + "/lib/python3.9/site-packages/bfcl_eval/data";
    const std::string latest = python.path() + "/lib/python3.11/site-packages/bfcl_eval/data";
    copy_data(data.path(), old);
    EXPECT_EQ(find_bfcl_data(data.path()), data.path());
    EXPECT_EQ(find_bfcl_data(python.path()), old);
    EXPECT_EQ(find_bfcl_data(python.path() + "/lib/python3.9/site-packages"), old);
    copy_data(data.path(), latest);
    EXPECT_EQ(find_bfcl_data(python.path()), latest);
    const Variable environment("VIRTUAL_ENV", python.path());
    EXPECT_EQ(find_bfcl_data(""), latest);
}

TEST(BfclFolder, SaysWhereItLooked) {
    const TempFolder empty;
    EXPECT_ERROR(ErrorCode::not_found, empty.path() + " is not a folder of BFCL's data", find_bfcl_data(empty.path()));
}

}  // namespace
}  // namespace colugo
