#include "cli/logits_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

namespace fs = std::filesystem;
using testing::TempFolder;

size_t files_in(const std::string& folder) {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(LogitsFile, HasItsNameOnlyWhenWhole) {
    const TempFolder folder;
    const std::string path = folder.write("logits", "of an earlier run");
    std::vector<float> values = {1.0f, -2.5f, 3.0f, 4.0f, 5.0f, 6.0f};
    {
        LogitsFile file(path);
        file.append(TensorView(values.data(), 1, 2));
        file.append(TensorView(values.data() + 2, 2, 2));
        EXPECT_EQ(fs::file_size(path), 17u);
        file.publish();
    }
    ASSERT_EQ(fs::file_size(path), values.size() * sizeof(float));
    std::vector<float> back(values.size());
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(back.data()), 24);
    EXPECT_EQ(back, values);
    EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(LogitsFile, WritesWhatALinkLeadsTo) {
    const TempFolder folder;
    const std::string target = folder.write("target", "old");
    fs::create_symlink(target, folder.path() + "/link");
    float value = 1.0f;
    LogitsFile file(folder.path() + "/link");
    file.append(TensorView(&value, 1, 1));
    file.publish();
    EXPECT_TRUE(fs::is_symlink(folder.path() + "/link"));
    EXPECT_EQ(fs::file_size(target), 4u);
}

TEST(LogitsFile, TakesTheLongestNames) {
    const TempFolder folder;
    LogitsFile file(folder.path() + "/" + std::string(255, 'n'));
    file.publish();
    EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(LogitsFile, LeavesNothingWhenItIsNotPublished) {
    const TempFolder folder;
    { LogitsFile file(folder.path() + "/logits"); }
    EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(LogitsFile, NamesWhatItCannotWrite) {
    EXPECT_ERROR(ErrorCode::not_found, "/nowhere/logits", LogitsFile("/nowhere/logits"));
    EXPECT_ERROR(ErrorCode::invalid_argument, "/dev/null", LogitsFile("/dev/null"));
    const TempFolder folder;
    EXPECT_ERROR(ErrorCode::invalid_argument, "regular file", LogitsFile(folder.path()));
}

}  // namespace
}  // namespace colugo
