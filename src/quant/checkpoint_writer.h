// A checkpoint folder in the making. Everything is laid out beforehand, so tensors may be written in any order and any
// piece; what is finished survives a crash; and DST appears whole or not at all.
//
//   DST.partial/checkpoint/   what DST will hold; renamed to DST by publish()
//   DST.partial/progress/     lock, job.json (what the run was asked for), steps.jsonl (what it finished), scratch/
//
// A run that ends at any point leaves either DST.partial, which a later run continues, or DST complete, perhaps beside
// a DST.partial without a checkpoint, which a later run sweeps away.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/output_file.h"
#include "quant/shard_layout.h"

namespace colugo {

class StepJournal;

class CheckpointWriter {
 public:
    // `destination` must not exist, its parent must. `shard_bytes`: see lay_out_shards. `job` is an object that names
    // everything the output depends on. `resume`: an unfinished run of the same job is continued where there is one;
    // without it one is refused. `extra_bytes`: disk the caller will still need for scratch.
    // Throws invalid_argument (something is in the way, another run is at work, the unfinished run is of another job),
    // not_found (no parent), resource_exhausted (disk), invalid_file (an unfinished run that has been tampered with)
    // or io.
    CheckpointWriter(const std::string& destination, const std::vector<OutputTensor>& tensors, uint64_t shard_bytes,
                     const nlohmann::ordered_json& job, bool resume, uint64_t extra_bytes);
    // Without publish() the work stays as it is, to be continued.
    ~CheckpointWriter();
    CheckpointWriter(const CheckpointWriter&) = delete;
    CheckpointWriter& operator=(const CheckpointWriter&) = delete;

    // An earlier run of this job was cut off after it had published: DST is complete and nothing may be done here.
    bool already_complete() const { return complete_; }
    const std::string& destination() const { return destination_; }

    // Bytes of a tensor, from `offset` bytes into it. Callable from several threads at once; the rest of this class is
    // for one thread. After an error the run is over: nothing more may be called. Throws io naming the file.
    void write(std::string_view tensor, uint64_t offset, std::span<const std::byte> bytes);

    // Steps are the caller's: names for what need not be done again.
    bool done(std::string_view step) const;
    // What was given to finish_step, as JSON gives it back. The step must be done.
    const nlohmann::ordered_json& record(std::string_view step) const;
    // Makes everything written so far durable, then the fact that the step is done. It must not have been.
    void finish_step(const std::string& step, const nlohmann::ordered_json& record);

    // A small file of the checkpoint (config.json), whole and durable; replaces one of the same name.
    void write_file(const std::string& name, std::string_view content);
    // Where the caller may keep a file of its own. Such files outlive an unfinished run and go with publish().
    std::string scratch_path(const std::string& name) const;

    // Every tensor has been written, says the caller. Nothing may be called afterwards. Throws invalid_argument, the
    // work kept, when something has appeared at `destination` meanwhile.
    void publish();

 private:
    struct OpenShard {
        explicit OpenShard(const std::string& path) : file(path) {}
        OutputFile file;
        std::atomic<bool> dirty{true};  // has bytes that may not be on disk yet
    };

    std::string path(std::string_view inside) const { return partial_ + "/" + std::string(inside); }
    [[noreturn]] void refuse_destination() const;
    void check_partial() const;
    [[noreturn]] void refuse_partial();
    bool enter(bool resume, uint64_t extra_bytes);
    void take_lock();
    bool take_job(const nlohmann::ordered_json& job) const;
    void check_space(uint64_t extra_bytes) const;
    void begin_shards();
    void continue_shards();
    void sweep() const;

    std::string destination_, parent_, partial_;
    ShardLayout layout_;
    bool complete_ = false;
    std::optional<OutputFile> lock_;
    std::unique_ptr<StepJournal> journal_;
    std::vector<std::unique_ptr<OpenShard>> shards_;  // as in layout_
};

}  // namespace colugo
