#include "engine/engine.h"

#include <algorithm>
#include <chrono>

namespace colugo {

namespace {

constexpr int64_t kLogitRows = 8;  // of one product with the head, where all are wanted

Engine::StepRows rows_of(std::span<const Scheduler::Turn> turns) {
    Engine::StepRows rows{.sequences = static_cast<int64_t>(turns.size())};
    for (const Scheduler::Turn& turn : turns) (turn.sequence->decoding() ? rows.decode : rows.prefill) += turn.rows;
    return rows;
}

}  // namespace

const char* finish_reason_name(FinishReason reason) {
    switch (reason) {
        case FinishReason::stop:
            return "stop";
        case FinishReason::length:
            return "length";
        case FinishReason::context:
            return "context";
        case FinishReason::cancelled:
            return "cancelled";
        case FinishReason::failed:
            return "failed";
    }
    return "unknown";
}

Engine::Engine(LoadedModel& model, TokenMask tokens, Options options)
    : model_(model),
      cache_(state_format(model.model()), model.plan().cache_bytes, model.plan().ctx_size),
      disk_(open_disk(options)),
      scheduler_(cache_, disk_.get(), model.plan().parallel, model.model().max_rows()),
      sampler_(std::move(tokens)),
      max_waiting_(options.max_waiting),
      logits_(static_cast<size_t>(std::max<int64_t>(model.plan().parallel, kLogitRows) * model.config().vocab_size) *
              sizeof(float)) {
    COLUGO_CHECK(sampler_.tokens().size() == model.config().vocab_size);
    batch_.reserve(static_cast<size_t>(model.plan().parallel));
    publish_metrics();
}

Engine::~Engine() {
    stop();
    run();  // lets every sequence go
}

std::unique_ptr<DiskTier> Engine::open_disk(const Options& options) {
    if (options.cache_disk.empty()) return nullptr;
    DiskStore::Options store{.folder = options.cache_disk,
                             .key = model_.numerics_key(),
                             .sizes = {},
                             .max_bytes = options.cache_disk_bytes,
                             .log = options.log ? options.log : [](std::string) {},
                             .on_done =
                                 [this] {
                                     const std::lock_guard lock(mutex_);
                                     disk_done_ = true;
                                     wake_.notify_one();
                                 }};
    return std::make_unique<DiskTier>(cache_, std::move(store));
}

// Sequences wait for what is being read, and nothing else is to be done.
void Engine::wait_for_disk() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stopping_ || disk_done_ || !mailbox_.empty(); });
    disk_done_ = false;
}

void check_request(const Request& request, int64_t vocab_size, int64_t ctx_size) {
    const auto prompt_len = static_cast<int64_t>(request.prompt.size());
    check_sampling_params(request.sampling, vocab_size);
    if (prompt_len == 0) fail(ErrorCode::invalid_argument, "the prompt is empty; expected at least one token");
    for (const int32_t token : request.prompt) {
        if (token < 0 || token >= vocab_size) {
            fail(ErrorCode::invalid_argument, "the prompt has the token {}; the model's vocabulary has ids 0 to {}",
                 token, vocab_size - 1);
        }
    }
    if (request.max_tokens < -1) {
        fail(ErrorCode::invalid_argument, "the number of new tokens is {}; expected 0 or more, or -1 for no limit",
             request.max_tokens);
    }
    const int64_t room = ctx_size - prompt_len;
    if (room < 0 || (room == 0 && request.max_tokens != 0)) {
        fail(ErrorCode::resource_exhausted, "the prompt has {} tokens, which leaves no room in a context of {}",
             prompt_len, ctx_size);
    }
}

RequestId Engine::submit(Request request, std::shared_ptr<RequestListener> listener) {
    COLUGO_CHECK(listener);
    check_request(request, model_.config().vocab_size, model_.plan().ctx_size);
    const std::lock_guard lock(mutex_);
    if (outstanding_ >= max_waiting_ + model_.plan().parallel) {
        fail(ErrorCode::resource_exhausted, "{} requests wait already; expected at most {}",
             outstanding_ - model_.plan().parallel, max_waiting_);
    }
    const RequestId id = next_id_++;
    ++outstanding_;
    mailbox_.push_back(Submit{id, std::move(request), std::move(listener)});
    wake_.notify_one();
    return id;
}

void Engine::cancel(RequestId id) {
    const std::lock_guard lock(mutex_);
    mailbox_.push_back(Cancel{id});
    wake_.notify_one();
}

void Engine::stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
}

void Engine::run() {
    for (bool fed = true;;) {
        {
            std::unique_lock lock(mutex_);
            if (!fed) wake_.wait(lock, [this] { return stopping_ || !mailbox_.empty(); });
            if (stopping_) break;
        }
        fed = step();
    }
    take_messages();
    while (Sequence* sequence = scheduler_.any()) finish(*sequence, FinishReason::cancelled);
    if (disk_) disk_->flush();
    publish_metrics();
}

void Engine::take_messages() {
    {
        const std::lock_guard lock(mutex_);
        taken_.swap(mailbox_);
    }
    for (Message& message : taken_) {
        if (auto* submit = std::get_if<Submit>(&message)) {
            ++counted_.submitted;
            auto sequence =
                std::make_unique<Sequence>(submit->id, std::move(submit->request), std::move(submit->listener),
                                           model_.config().vocab_size, model_.plan().ctx_size);
            sequence->result().weight_bytes_per_pass = model_.weight_bytes_per_pass();
            scheduler_.add(std::move(sequence));
        } else if (Sequence* sequence = scheduler_.find(std::get<Cancel>(message).id)) {
            finish(*sequence, FinishReason::cancelled);
        }
    }
    taken_.clear();
}

bool Engine::step() {
    take_messages();
    if (disk_) disk_->tend();
    scheduler_.admit();
    const std::span<const Scheduler::Turn> turns = scheduler_.plan();
    if (turns.empty()) {
        publish_metrics();
        if (scheduler_.num_waiting() == 0) return false;
        COLUGO_CHECK(disk_);  // else the first that waits would have begun
        wait_for_disk();
        return true;
    }
    const auto start = Sequence::Clock::now();
    const StepRows rows = rows_of(turns);
    forward(turns);
    size_t row = 0;
    const auto vocab_size = static_cast<size_t>(model_.config().vocab_size);
    for (const Scheduler::Turn& turn : turns) {
        if (turn.sequence->pending() > 0) continue;
        advance(*turn.sequence, {logits_.as<float>() + row * vocab_size, vocab_size});
        ++row;
    }
    count_step(rows, std::chrono::duration<double>(Sequence::Clock::now() - start).count());
    publish_metrics();
    return true;
}

// Feeds the turns' rows; the logits of every sequence that has nothing pending then are in logits_, in order.
void Engine::forward(std::span<const Scheduler::Turn> turns) {
    batch_.clear();
    for (const Scheduler::Turn& turn : turns) {
        Sequence& sequence = *turn.sequence;
        Lease& lease = sequence.lease();
        cache_.prepare(lease, turn.rows, sequence.snapshots_within(turn.rows));
        batch_.push_back({&lease.state(), sequence.next_tokens(turn.rows), lease.pass_pages(), lease.tails()});
    }
    model_.model().forward(batch_);
    logit_rows_.clear();
    int64_t row = 0;
    for (const Scheduler::Turn& turn : turns) {
        Sequence& sequence = *turn.sequence;
        cache_.commit(sequence.lease(), sequence.fed_tokens());
        sequence.result().fed_tokens += turn.rows;
        if (sequence.request().wants_logits) report_logits(sequence, row, turn.rows);
        row += turn.rows;
        if (sequence.fed() < sequence.prompt_len()) {
            sequence.listener().prefilled(sequence.fed(), sequence.prompt_len());
        }
        if (sequence.pending() == 0) logit_rows_.push_back(static_cast<int32_t>(row - 1));
    }
    if (logit_rows_.empty()) return;
    const auto count = static_cast<int64_t>(logit_rows_.size());
    model_.model().logits(TensorView(logits_.as<float>(), count, model_.config().vocab_size), logit_rows_);
}

// Of the last `rows` positions that were fed, whose rows of the batch begin at first_row.
void Engine::report_logits(Sequence& sequence, int64_t first_row, int64_t rows) {
    const int64_t first_position = sequence.fed() - rows;
    for (int64_t done = 0; done < rows; done += kLogitRows) {
        int32_t indices[kLogitRows];
        const int64_t count = std::min(kLogitRows, rows - done);
        for (int64_t i = 0; i < count; ++i) indices[i] = static_cast<int32_t>(first_row + done + i);
        const TensorView view(logits_.as<float>(), count, model_.config().vocab_size);
        model_.model().logits(view, std::span(indices).first(static_cast<size_t>(count)));
        sequence.listener().logits(first_position + done, view);
    }
}

// Draws the next token of a sequence that has fed all it has, and ends it where the text ends.
void Engine::advance(Sequence& sequence, std::span<const float> logits) {
    RequestResult& result = sequence.result();
    const bool prompt_done = sequence.fed() == sequence.prompt_len();
    const double now = sequence.seconds_since_submission();
    if (prompt_done) {
        result.prefill_seconds = now - result.queue_seconds;
        sequence.listener().prefilled(sequence.prompt_len(), sequence.prompt_len());
    } else {
        ++result.decode_passes;
    }
    result.decode_seconds = now - result.queue_seconds - result.prefill_seconds;
    if (result.generated_tokens == sequence.limit()) return finish(sequence, sequence.at_limit());
    int32_t token = 0;
    try {
        token = sampler_.draw(logits, sequence.fed(), sequence.request().sampling, sequence.history());
    } catch (const Error& error) {
        result.error = error;
        return finish(sequence, FinishReason::failed);
    }
    if (result.ttft_seconds == 0.0) result.ttft_seconds = now;
    const std::vector<int32_t>& stops = sequence.request().stop_ids;
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) return finish(sequence, FinishReason::stop);
    ++result.generated_tokens;
    ++counted_.generated_tokens;
    sequence.append(token);
    sequence.listener().token(token);
    // Nobody asks what comes after the last one.
    if (result.generated_tokens == sequence.limit()) finish(sequence, sequence.at_limit());
}

void Engine::finish(Sequence& sequence, FinishReason reason) {
    // What led to a logit that is not finite is not worth keeping.
    const std::unique_ptr<Sequence> done = scheduler_.remove(sequence, reason != FinishReason::failed);
    ++counted_.finished;
    done->result().finish = reason;
    {
        const std::lock_guard lock(mutex_);
        --outstanding_;
    }
    done->listener().finished(done->result());
}

void Engine::count_step(const StepRows& rows, double seconds) {
    ++counted_.steps;
    counted_.prefill_rows += rows.prefill;
    counted_.decode_rows += rows.decode;
    counted_.most_sequences = std::max(counted_.most_sequences, rows.sequences);
    counted_.step_seconds += seconds;
    scheduler_.pace().record(rows.prefill, rows.decode, seconds);
}

void Engine::publish_metrics() {
    counted_.running = static_cast<int64_t>(scheduler_.num_running());
    counted_.waiting = static_cast<int64_t>(scheduler_.num_waiting());
    counted_.scheduler = scheduler_.counters();
    counted_.cache = cache_.counters();
    if (disk_) counted_.disk = disk_->counters();
    counted_.cache_bytes = cache_.budget().limit();
    counted_.used_bytes = cache_.budget().used();
    counted_.snapshots = static_cast<int64_t>(cache_.num_snapshots());
    counted_.pages = cache_.num_pages();
    const std::lock_guard lock(mutex_);
    published_ = counted_;
}

EngineMetrics Engine::metrics() const {
    const std::lock_guard lock(mutex_);
    return published_;
}

}  // namespace colugo
