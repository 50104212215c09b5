// A run is ended at each of the calls by which it changes the disk, and continued.
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "quant/small_run.h"
#include "quant/system_calls.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using testing::do_small_run;
using testing::Fault;
using testing::folder_content;
using testing::set_fault;
using testing::TempFolder;
using Content = std::map<std::string, std::string>;

Content undisturbed() {
    const TempFolder folder;
    set_fault(Fault::none);
    EXPECT_EQ(do_small_run(folder.path() + "/out", false), 3);
    return folder_content(folder.path() + "/out");
}

// In a process of its own; whether it was killed.
bool run_and_kill(const std::string& destination, bool resume, int call) {
    const pid_t child = fork();
    if (child == 0) {
        set_fault(Fault::kill, call);
        try {
            do_small_run(destination, resume);
        } catch (const Error&) {
            _exit(1);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    EXPECT_TRUE(code == 0 || code == testing::kKilled) << code;
    return code == testing::kKilled;
}

// After any end of a run: nothing or everything is at the destination, and continuing makes it everything.
void expect_continues(const std::string& destination, const Content& expected) {
    const bool published = std::filesystem::exists(destination);
    if (published) {
        EXPECT_EQ(folder_content(destination), expected);
        // While anything but the job is left to sweep, a later run is told that all is done.
        EXPECT_TRUE(std::filesystem::exists(destination + ".partial/progress/job.json") ||
                    !std::filesystem::exists(destination + ".partial/progress/steps.jsonl"));
    }
    set_fault(Fault::none);
    if (published && !std::filesystem::exists(destination + ".partial/progress/job.json")) {
        EXPECT_ERROR(ErrorCode::invalid_argument, "out already exists", do_small_run(destination, true));
    } else {
        const int steps = do_small_run(destination, true);
        EXPECT_TRUE(!published || steps == 0) << steps;
    }
    EXPECT_EQ(folder_content(destination), expected);
    EXPECT_FALSE(std::filesystem::exists(destination + ".partial"));
}

TEST(CheckpointWriterCrash, ARunKilledAtAnyCallContinues) {
    const Content expected = undisturbed();
    ASSERT_EQ(expected.size(), 4u);  // two shards, index, config.json
    int calls = 0;
    for (bool killed = true; killed; ++calls) {
        SCOPED_TRACE(calls);
        const TempFolder folder;
        killed = run_and_kill(folder.path() + "/out", false, calls);
        if (killed) expect_continues(folder.path() + "/out", expected);
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(calls, 40);
}

TEST(CheckpointWriterCrash, ARunKilledAgainAndAgainGetsThere) {
    const Content expected = undisturbed();
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        const TempFolder folder;
        const std::string destination = folder.path() + "/out";
        for (int kill = 0; kill < 4 && !std::filesystem::exists(destination); ++kill) {
            run_and_kill(destination, true, static_cast<int>(random() % 60));
        }
        if (std::filesystem::exists(destination + ".partial")) expect_continues(destination, expected);
        EXPECT_EQ(folder_content(destination), expected);
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(CheckpointWriterCrash, ARunTheSystemRefusesAnythingContinues) {
    const Content expected = undisturbed();
    const int total = static_cast<int>(testing::calls_made().size());
    int refused = 0;
    for (int call = 0; call < total; ++call) {
        SCOPED_TRACE(call);
        const TempFolder folder;
        set_fault(call % 2 == 0 ? Fault::no_space : Fault::no_device, call);
        try {
            do_small_run(folder.path() + "/out", false);
        } catch (const Error& error) {
            ++refused;
            EXPECT_THAT(error.what(), ::testing::HasSubstr(folder.path()));
        }
        if (std::filesystem::exists(folder.path() + "/out.partial")) {
            expect_continues(folder.path() + "/out", expected);
        } else if (std::filesystem::exists(folder.path() + "/out")) {
            EXPECT_EQ(folder_content(folder.path() + "/out"), expected);
        }
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(refused, total * 9 / 10);
}

TEST(CheckpointWriterCrash, FinishedStepsAreNotLost) {
    const TempFolder folder;
    const std::string destination = folder.path() + "/out";
    {
        CheckpointWriter writer(destination, testing::small_tensors(), testing::kSmallShard, testing::small_job(),
                                false, 0);
        testing::do_small_step(writer, 1);
        testing::do_small_step(writer, 0);
        // A third one begun.
        writer.write("norm", 0, testing::as_bytes(std::string(50, 'x')));
    }
    EXPECT_EQ(do_small_run(destination, true), 1);
    EXPECT_EQ(folder_content(destination), undisturbed());
}

TEST(CheckpointWriterCrash, InterruptedAndShortWritesAreCompleted) {
    const Content expected = undisturbed();
    const size_t calls = testing::calls_made().size();
    const TempFolder folder;
    set_fault(Fault::interrupted);
    do_small_run(folder.path() + "/out", false);
    EXPECT_EQ(folder_content(folder.path() + "/out"), expected);
    EXPECT_GT(testing::calls_made().size(), 2 * calls);
    set_fault(Fault::none);
}

}  // namespace
}  // namespace colugo
