#include "quant/checkpoint_writer.h"

#include <sys/stat.h>

#include <cmath>
#include <limits>
#include <thread>

#include "base/mapped_file.h"
#include "checkpoint/checkpoint_files.h"
#include "quant/small_run.h"
#include "quant/system_calls.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using testing::as_bytes;
using testing::do_small_run;
using testing::do_small_step;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::small_bytes;
using testing::small_job;
using testing::small_tensors;
using testing::TempFolder;

class CheckpointWriterTest : public ::testing::Test {
 protected:
    ~CheckpointWriterTest() override {
        testing::set_fault(testing::Fault::none);
        testing::refuse_calls("", 0);
    }

    std::unique_ptr<CheckpointWriter> open(bool resume, const ordered_json& job = small_job(), uint64_t extra = 0) {
        return std::make_unique<CheckpointWriter>(out_, small_tensors(), testing::kSmallShard, job, resume, extra);
    }
    std::string read(const std::string& path) const {
        const MappedFile file(path);
        return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
    }
    std::string steps_path() const { return out_ + ".partial/progress/steps.jsonl"; }
    void append(const std::string& path, std::string_view text) {
        std::ofstream(path, std::ios::app | std::ios::binary) << text;
    }

    TempFolder folder_;
    std::string out_ = folder_.path() + "/out";
};

TEST_F(CheckpointWriterTest, WritesACheckpointThatIsReadBack) {
    EXPECT_EQ(do_small_run(out_, false), 3);
    const CheckpointFiles files(out_);
    EXPECT_THAT(files.notices(), IsEmpty());
    ASSERT_EQ(files.tensors().size(), small_tensors().size());
    for (size_t i = 0; i < small_tensors().size(); ++i) {
        const OutputTensor expected = small_tensors()[i];
        const StoredTensor& tensor = files.tensors().at(expected.name);
        EXPECT_EQ(tensor.record->dtype, expected.dtype);
        EXPECT_EQ(tensor.record->shape, expected.shape);
        const auto bytes = tensor.bytes();
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), small_bytes(i));
    }
    std::vector<std::string> names;
    for (const auto& [name, content] : testing::folder_content(out_)) names.push_back(name);
    EXPECT_THAT(names, ElementsAre("config.json", "model-00001-of-00002.safetensors",
                                   "model-00002-of-00002.safetensors", "model.safetensors.index.json"));
    EXPECT_FALSE(fs::exists(out_ + ".partial"));
}

TEST_F(CheckpointWriterTest, ATensorOfNothingAndAFileWithoutIndex) {
    const std::vector<OutputTensor> tensors = {{"none", DType::bf16, {0, 4}}, {"one", DType::u8, {1}}};
    CheckpointWriter writer(out_ + "//", tensors, 1000, small_job(), false, 0);
    EXPECT_EQ(writer.destination(), out_);
    writer.write("none", 0, {});
    writer.write("one", 0, as_bytes("x"));
    writer.publish();
    EXPECT_EQ(CheckpointFiles(out_).tensors().at("none").record->shape, (std::vector<int64_t>{0, 4}));
    EXPECT_EQ(testing::folder_content(out_).size(), 1u);
}

TEST_F(CheckpointWriterTest, ThreadsWriteAtOnce) {
    constexpr size_t kThreads = 4;
    constexpr size_t kPiece = 1000;
    const std::vector<OutputTensor> tensors = {{"a", DType::u8, {kThreads * 50 * kPiece}}};
    CheckpointWriter writer(out_, tensors, 1 << 30, small_job(), false, 0);
    std::vector<std::thread> threads;
    for (size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&writer, thread] {
            for (size_t piece = thread; piece < kThreads * 50; piece += kThreads) {
                writer.write("a", piece * kPiece, as_bytes(std::string(kPiece, static_cast<char>(piece))));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    writer.publish();
    const CheckpointFiles files(out_);
    const auto bytes = files.tensors().at("a").bytes();
    for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], static_cast<std::byte>(i / kPiece)) << i;
}

TEST_F(CheckpointWriterTest, ResumeKeepsRecordsAndScratch) {
    {
        const auto writer = open(false);
        EXPECT_FALSE(writer->done("codes"));
        const ordered_json record = {{"z", 1.5}, {"amax", {{"b", 1}, {"a", 2}}}, {"none", std::nan("")}};
        writer->finish_step("codes", record);
        EXPECT_EQ(writer->record("codes").dump(), R"({"z":1.5,"amax":{"b":1,"a":2},"none":null})");
        OutputFile(writer->scratch_path("rows")).write(0, "rows of before");
    }
    const auto writer = open(true);
    EXPECT_FALSE(writer->already_complete());
    EXPECT_TRUE(writer->done("codes"));
    EXPECT_FALSE(writer->done("norm"));
    EXPECT_EQ(writer->record("codes").dump(), R"({"z":1.5,"amax":{"b":1,"a":2},"none":null})");
    EXPECT_EQ(read(writer->scratch_path("rows")), "rows of before");
}

TEST_F(CheckpointWriterTest, ResumeOfNothingBegins) {
    EXPECT_EQ(do_small_run(out_, true), 3);
    EXPECT_TRUE(fs::exists(out_));
}

TEST_F(CheckpointWriterTest, StartsOverWhereNoStepWasFinished) {
    {
        const auto writer = open(false);
        writer->write_file("stale.json", "{}");
        writer->write("codes", 0, as_bytes("stale"));
    }
    // Other shards than before, too.
    CheckpointWriter writer(out_, small_tensors(), 1000, small_job(), true, 0);
    writer.publish();
    EXPECT_EQ(testing::folder_content(out_).size(), 1u);
    EXPECT_EQ(read(out_ + "/model.safetensors").find("stale"), std::string::npos);
}

TEST_F(CheckpointWriterTest, DropsAStepThatWasBeingNoted) {
    do_small_step(*open(false), 0);
    append(steps_path(), R"({"step":"scale","rec)");
    {
        const auto writer = open(true);
        EXPECT_TRUE(writer->done("codes"));
        EXPECT_FALSE(writer->done("scale"));
        do_small_step(*writer, 2);
    }
    const auto writer = open(true);
    EXPECT_TRUE(writer->done("codes"));
    EXPECT_TRUE(writer->done("norm"));
}

TEST_F(CheckpointWriterTest, RefusesAJournalThatIsNone) {
    const struct {
        const char* line;
        const char* words;
    } cases[] = {
        {"nonsense", "line 2 is not JSON"},
        {"", "line 2 is not JSON"},
        {"[1]", "line 2 is [1]; expected {\"step\""},
        {R"({"step":"x"})", "line 2 is"},
        {R"({"step":5,"record":null})", "line 2 is"},
        {R"({"step":"x","record":1,"more":2})", "line 2 is"},
        {R"({"step":"codes","record":null})", "line 2 has the step codes a second time"},
    };
    do_small_step(*open(false), 0);
    const std::string good = read(steps_path());
    for (const auto& entry : cases) {
        SCOPED_TRACE(entry.line);
        std::ofstream(steps_path(), std::ios::binary) << good << entry.line << "\n";
        EXPECT_ERROR(ErrorCode::invalid_file, entry.words, open(true));
    }
    std::ofstream(steps_path(), std::ios::binary) << good;
    EXPECT_TRUE(open(true)->done("codes"));
}

TEST_F(CheckpointWriterTest, RefusesToContinueAnotherJob) {
    do_small_step(*open(false), 0);
    ordered_json job = small_job();
    job["calibration"]["samples"] = 9;
    EXPECT_ERROR(ErrorCode::invalid_argument, "was begun with calibration.samples = 8, now it is 9", open(true, job));
    job = small_job();
    job["seed"] = 1;
    EXPECT_ERROR(ErrorCode::invalid_argument, "was begun with seed = nothing, now it is 1", open(true, job));
    job = small_job();
    job.erase("recipe");
    EXPECT_ERROR(ErrorCode::invalid_argument, "was begun with recipe = \"fp8\", now it is nothing", open(true, job));
    job["recipe"] = "fp8";  // another order is the same job
    EXPECT_TRUE(open(true, job)->done("codes"));
}

TEST_F(CheckpointWriterTest, ContinuesAJobJsonCannotHoldAsItIs) {
    const ordered_json job = {{"path", "caf\xe9"}, {"limit", std::numeric_limits<double>::infinity()}, {"step", 0.1f}};
    do_small_step(*open(false, job), 0);
    EXPECT_TRUE(open(true, job)->done("codes"));
}

TEST_F(CheckpointWriterTest, RefusesFinishedStepsWithoutTheirBytes) {
    do_small_step(*open(false), 0);
    const std::string shard = out_ + ".partial/checkpoint/model-00001-of-00002.safetensors";
    EXPECT_ERROR(ErrorCode::invalid_file, "model.safetensors is missing or laid out for other tensors",
                 CheckpointWriter(out_, small_tensors(), 1000, small_job(), true, 0));
    fs::resize_file(shard, fs::file_size(shard) - 1);
    EXPECT_ERROR(ErrorCode::invalid_file, shard, open(true));
    fs::remove(shard);
    EXPECT_ERROR(ErrorCode::invalid_file, shard, open(true));
    fs::remove_all(out_ + ".partial/checkpoint");
    EXPECT_ERROR(ErrorCode::invalid_file, shard, open(true));
    fs::remove(out_ + ".partial/progress/job.json");
    EXPECT_ERROR(ErrorCode::invalid_file, "finished steps but no progress/job.json", open(true));
}

TEST_F(CheckpointWriterTest, RefusesWhatIsInTheWay) {
    fs::create_directory(out_);
    EXPECT_ERROR(ErrorCode::invalid_argument, "out already exists; expected the name of a new folder", open(false));
    EXPECT_ERROR(ErrorCode::invalid_argument, "out already exists", open(true));
    fs::remove(out_);
    fs::create_symlink(folder_.path() + "/nowhere", out_);
    EXPECT_ERROR(ErrorCode::invalid_argument, "out already exists", open(false));
    fs::remove(out_);
    EXPECT_FALSE(fs::exists(out_ + ".partial"));
    open(false);
    EXPECT_ERROR(ErrorCode::invalid_argument, "continue it with --resume, or remove it", open(false));
    fs::create_directory(out_);
    EXPECT_ERROR(ErrorCode::invalid_argument, "out already exists", open(true));
    EXPECT_TRUE(fs::exists(out_ + ".partial/checkpoint"));
}

TEST_F(CheckpointWriterTest, RefusesPlacesThatAreNone) {
    out_ = folder_.path() + "/missing/out";
    EXPECT_ERROR(ErrorCode::not_found, "/missing is not a folder", open(false));
    out_ = folder_.write("file", "") + "/out";
    EXPECT_ERROR(ErrorCode::not_found, "/file is not a folder", open(false));
    for (const char* name : {"", "/", ".", "a/..", "//"}) {
        out_ = name;
        EXPECT_ERROR(ErrorCode::invalid_argument, "expected the name of a new folder", open(false));
    }
}

TEST_F(CheckpointWriterTest, AsksForTheDiskItNeeds) {
    EXPECT_ERROR(ErrorCode::resource_exhausted, "of output, 1073741824.0 GiB of scratch",
                 open(false, small_job(), uint64_t{1} << 60));
    EXPECT_ERROR(ErrorCode::resource_exhausted, "on disk", open(false, small_job(), ~uint64_t{0}));
    const std::vector<OutputTensor> huge = {{"a", DType::u8, {int64_t{1} << 60}}};
    EXPECT_ERROR(ErrorCode::resource_exhausted, "1073741824.0 GiB of output",
                 CheckpointWriter(out_, huge, 1 << 30, small_job(), false, 0));
    EXPECT_THAT(testing::folder_content(folder_.path()), IsEmpty());
    open(false);
    EXPECT_ERROR(ErrorCode::resource_exhausted, "on disk", open(true, small_job(), uint64_t{1} << 60));
}

TEST_F(CheckpointWriterTest, TakesTheRoomAtOnce) {
    constexpr int64_t kBytes = 3 << 20;
    const std::vector<OutputTensor> tensors = {{"a", DType::u8, {kBytes}}};
    const CheckpointWriter writer(out_, tensors, 1 << 30, small_job(), false, 0);
    struct stat status {};
    ASSERT_EQ(stat((out_ + ".partial/checkpoint/model.safetensors").c_str(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, kBytes);
}

TEST_F(CheckpointWriterTest, DiskThatRunsOutLater) {
    testing::refuse_calls("fallocate", ENOSPC);
    EXPECT_ERROR(ErrorCode::resource_exhausted, "model-00001-of-00002.safetensors", open(false));
    testing::refuse_calls("fallocate", EOPNOTSUPP);
    const auto writer = open(true);
    for (const int reason : {ENOSPC, EIO}) {
        testing::refuse_calls("pwrite", reason);
        EXPECT_ERROR(ErrorCode::io, "model-00001-of-00002.safetensors: ", writer->write("codes", 0, as_bytes("x")));
    }
    testing::refuse_calls("fdatasync", EIO);
    EXPECT_ERROR(ErrorCode::io, "safetensors: Input/output error", writer->finish_step("codes", nullptr));
    testing::refuse_calls("", 0);
    EXPECT_FALSE(writer->done("codes"));
}

TEST_F(CheckpointWriterTest, TwoRunsCannotShareAFolder) {
    const auto first = open(false);
    EXPECT_ERROR(ErrorCode::invalid_argument, "out is being made by another run", open(true));
    EXPECT_ERROR(ErrorCode::invalid_argument, "out is being made by another run", open(false));
    do_small_step(*first, 0);
    EXPECT_ERROR(ErrorCode::invalid_argument, "out.partial/progress/lock", open(true));
}

TEST_F(CheckpointWriterTest, DoesNotPublishOverWhatAppearedMeanwhile) {
    for (const bool by_the_system : {true, false}) {
        SCOPED_TRACE(by_the_system);
        {
            const auto writer = open(false);
            do_small_step(*writer, 0);
            fs::create_directory(out_);
            if (!by_the_system) testing::refuse_calls("renameat2", EINVAL);
            EXPECT_ERROR(ErrorCode::invalid_argument, "out appeared while it was being made", writer->publish());
        }
        EXPECT_THAT(testing::folder_content(out_), IsEmpty());
        fs::remove(out_);
        EXPECT_EQ(do_small_run(out_, true), 2);
        EXPECT_EQ(CheckpointFiles(out_).tensors().size(), 3u);
        fs::remove_all(out_);
    }
}

// A run cut off between the renaming and the end of the sweep.
TEST_F(CheckpointWriterTest, SweepsUpAfterAPublishedRun) {
    {
        const auto writer = open(false);
        do_small_step(*writer, 0);
    }
    const auto cut_off = [&] { fs::rename(out_ + ".partial/checkpoint", out_); };
    cut_off();
    ordered_json other = small_job();
    other["recipe"] = "nvfp4";
    EXPECT_ERROR(ErrorCode::invalid_argument, "out already exists", open(false));
    EXPECT_ERROR(ErrorCode::invalid_argument, "was begun with recipe", open(true, other));
    EXPECT_TRUE(open(true)->already_complete());
    EXPECT_FALSE(fs::exists(out_ + ".partial"));
    EXPECT_ERROR(ErrorCode::invalid_argument, "out already exists", open(true));
}

TEST_F(CheckpointWriterTest, WhatIsNotedIsOnDiskBefore) {
    const auto writer = open(false);
    writer->finish_step("begin", nullptr);
    testing::set_fault(testing::Fault::none);
    do_small_step(*writer, 2);
    EXPECT_THAT(testing::calls_made(),
                ElementsAre("pwrite model-00002-of-00002.safetensors", "pwrite model-00002-of-00002.safetensors",
                            "fdatasync model-00002-of-00002.safetensors", "pwrite steps.jsonl", "fsync steps.jsonl"));
    testing::set_fault(testing::Fault::none);
    writer->write_file("config.json", "{}");
    EXPECT_THAT(testing::calls_made(), ElementsAre("ftruncate unfinished-file", "pwrite unfinished-file",
                                                   "fsync unfinished-file", "rename config.json"));
    testing::set_fault(testing::Fault::none);
    writer->publish();
    std::vector<std::string> calls = testing::calls_made();
    ASSERT_GT(calls.size(), 9u);
    calls.resize(10);
    EXPECT_THAT(calls, ElementsAre("ftruncate unfinished-file", "pwrite unfinished-file", "fsync unfinished-file",
                                   "rename model.safetensors.index.json", "fsync model-00001-of-00002.safetensors",
                                   "fsync model-00002-of-00002.safetensors", "fsync checkpoint", "renameat2 out",
                                   "fsync " + fs::path(folder_.path()).filename().string(), "fsync out.partial"));
}

TEST_F(CheckpointWriterTest, BeginsAnewWhenAPublishedFolderIsGoneAgain) {
    do_small_step(*open(false), 0);
    fs::remove_all(out_ + ".partial/checkpoint");
    fs::remove(steps_path());
    EXPECT_EQ(do_small_run(out_, true), 3);
}

using CheckpointWriterDeathTest = CheckpointWriterTest;

TEST_F(CheckpointWriterDeathTest, RefusesMisuse) {
    const auto writer = open(false);
    writer->finish_step("codes", nullptr);
    EXPECT_DEATH(writer->write("missing", 0, as_bytes("x")), "CHECK failed");
    EXPECT_DEATH(writer->write("scale", 1, as_bytes("1234")), "CHECK failed");
    EXPECT_DEATH(writer->write("scale", 5, {}), "CHECK failed");
    EXPECT_DEATH(writer->write("scale", ~uint64_t{0}, as_bytes("12")), "CHECK failed");
    EXPECT_DEATH(writer->finish_step("codes", nullptr), "CHECK failed");
    EXPECT_DEATH(writer->record("norm"), "CHECK failed");
    EXPECT_DEATH(writer->write_file("../config.json", ""), "CHECK failed");
    EXPECT_DEATH(writer->write_file("model-00001-of-00002.safetensors", ""), "CHECK failed");
    EXPECT_DEATH(writer->scratch_path("a/b"), "CHECK failed");
    writer->publish();
    EXPECT_DEATH(writer->publish(), "CHECK failed");
    EXPECT_DEATH(writer->write("scale", 0, as_bytes("x")), "CHECK failed");
}

}  // namespace
}  // namespace colugo
