#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>

namespace colugo {

namespace {

constexpr int64_t kLogitRows = 8;  // of one product with the head, where all are wanted

int64_t logit_rows(const LoadedModel& model) {
    const int64_t nodes = model.spec().mode == SpecMode::off ? 1 : model.spec().nodes;
    return std::max(model.plan().parallel * nodes, kLogitRows);
}

Engine::StepRows rows_of(std::span<const Scheduler::Turn> turns) {
    Engine::StepRows rows{.sequences = static_cast<int64_t>(turns.size())};
    for (const Scheduler::Turn& turn : turns) (turn.sequence->decoding() ? rows.decode : rows.prefill) += turn.rows;
    return rows;
}

}  // namespace

Engine::Engine(LoadedModel& model, TokenMask tokens, Options options)
    : model_(model),
      cache_(state_format(model.model()), model.plan().cache_bytes, model.plan().ctx_size),
      disk_(open_disk(options)),
      scheduler_(cache_, disk_.get(), model.plan().parallel, model.max_rows()),
      sampler_(std::move(tokens)),
      max_waiting_(options.max_waiting),
      cache_disk_seconds_(options.cache_disk_seconds),
      token_bytes_(std::move(options.token_bytes)),
      logits_(static_cast<size_t>(logit_rows(model) * model.config().vocab_size) * sizeof(float)) {
    COLUGO_CHECK(sampler_.tokens().size() == model.config().vocab_size);
    const auto parallel = static_cast<size_t>(model.plan().parallel);
    batch_.reserve(parallel);
    if (model.spec().mode != SpecMode::off) {
        if (options.pass_cost) {
            options.pass_cost->hold();
        } else if (model.spec().mode == SpecMode::automatic) {
            options.pass_cost.emplace(model.model(), model.spec().nodes);
        }
        drafter_.emplace(model.model(), model.spec(), model.plan().parallel, options.pass_cost);
        const size_t drafts = parallel * static_cast<size_t>(model.spec().nodes);
        draft_tokens_.reserve(drafts);
        draft_parents_.reserve(drafts);
    }
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

RequestId Engine::submit(Request request, std::shared_ptr<RequestListener> listener) {
    COLUGO_CHECK(listener);
    check_request(request, model_.config().vocab_size, model_.plan().ctx_size);
    if (!request.stop_strings.empty() && !token_bytes_) {
        fail(ErrorCode::invalid_argument, "the request has stop strings, and the model no tokenizer");
    }
    const std::lock_guard lock(mutex_);
    if (outstanding_ >= max_waiting_ + model_.plan().parallel) {
        fail(ErrorCode::resource_exhausted, "{} requests wait already; expected at most {}",
             outstanding_ - model_.plan().parallel, max_waiting_);
    }
    const RequestId id = next_id_++;
    ++outstanding_;
    mailbox_.emplace_back(Submit{id, std::move(request), std::move(listener)});
    wake_.notify_one();
    return id;
}

void Engine::cancel(RequestId id) {
    const std::lock_guard lock(mutex_);
    mailbox_.emplace_back(Cancel{id});
    wake_.notify_one();
}

std::future<CacheManager::Lookup> Engine::look_up(OwnedPrefix prompt) {
    std::promise<CacheManager::Lookup> found;
    std::future<CacheManager::Lookup> future = found.get_future();
    const std::lock_guard lock(mutex_);
    mailbox_.emplace_back(LookUp{std::move(prompt), std::move(found)});
    wake_.notify_one();
    return future;
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
            if (!fed) wake_.wait(lock, [this] { return stopping_ || disk_done_ || !mailbox_.empty(); });
            disk_done_ = false;
            if (stopping_) break;
        }
        fed = step();
    }
    take_messages();
    while (Sequence* sequence = scheduler_.any()) finish(*sequence, FinishReason::cancelled);
    if (disk_) disk_->flush(cache_disk_seconds_);
    publish_metrics();
}

void Engine::take_messages() {
    {
        const std::lock_guard lock(mutex_);
        taken_.swap(mailbox_);
    }
    for (Message& message : taken_) {
        std::visit([this](auto& one) { receive(one); }, message);
    }
    taken_.clear();
}

void Engine::receive(Submit& submit) {
    ++counted_.submitted;
    auto sequence = std::make_unique<Sequence>(submit.id, std::move(submit.request), std::move(submit.listener),
                                               model_.config().vocab_size, model_.plan().ctx_size, model_.spec());
    sequence->result().weight_bytes_per_pass = model_.weight_bytes_per_pass();
    scheduler_.add(std::move(sequence));
}

void Engine::receive(const Cancel& cancel) {
    if (Sequence* sequence = scheduler_.find(cancel.id)) finish(*sequence, FinishReason::cancelled);
}

void Engine::receive(LookUp& look_up) {
    CacheManager::Lookup found = cache_.look_up(look_up.prompt);
    if (disk_) {
        const int64_t stored = disk_->would_fetch(look_up.prompt);
        found = {std::max(found.cached_len, stored), std::max(found.matched_len, stored)};
    }
    look_up.found.set_value(found);
}

bool Engine::step() {
    take_messages();
    if (disk_) disk_->tend();
    scheduler_.admit();
    const std::span<const Scheduler::Turn> turns = scheduler_.plan();
    // What is being written is held, and nobody else gets its memory.
    if (disk_ && !scheduler_.lacks_memory()) disk_->write_behind(turns.empty());
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
    float* logits = logits_.as<float>();
    for (size_t i = 0; i < turns.size(); ++i) {
        Sequence& sequence = *turns[i].sequence;
        const int64_t looked_at = sequence.pending() > 0 ? 0 : 1 + static_cast<int64_t>(batch_[i].drafts.size());
        settle(sequence, i, logits);
        logits += looked_at * model_.config().vocab_size;
    }
    count_step(rows, std::chrono::duration<double>(Sequence::Clock::now() - start).count());
    publish_metrics();
    return true;
}

// Drafts for the sequences that decode, into their trees.
void Engine::draft(std::span<const Scheduler::Turn> turns) {
    targets_.clear();
    drafted_.clear();
    if (!drafter_) return;
    for (const Scheduler::Turn& turn : turns) {
        Sequence& sequence = *turn.sequence;
        sequence.drafts().clear();
        const int most_depth = sequence.decoding() ? sequence.most_draft_depth() : 0;
        if (most_depth == 0) continue;
        targets_.push_back({.sequence = &sequence.lease().state(),
                            .root = sequence.tokens().back(),
                            .lookup = sequence.lookup(),
                            .seen = &sequence.seen(),
                            .params = sequence.spec(),
                            .most_depth = most_depth,
                            .tree = &sequence.drafts()});
        drafted_.push_back(&sequence);
    }
    if (targets_.empty()) return;
    int64_t rows = 0;
    for (const Scheduler::Turn& turn : turns) rows += turn.rows;
    const auto begin = Sequence::Clock::now();
    const HeadWork work = drafter_->draft(targets_, rows, [this](size_t target, int64_t position, DraftLogits logits) {
        adjuster_.adjust(*drafted_[target], position, logits);
    });
    counted_.head.levels += work.levels;
    counted_.head.rows += work.rows;
    const double seconds = std::chrono::duration<double>(Sequence::Clock::now() - begin).count();
    counted_.drafts.draft_seconds += seconds;
    for (Sequence* sequence : drafted_) {
        sequence->result().drafts.draft_seconds += seconds / static_cast<double>(drafted_.size());
    }
}

// Feeds the turns' rows and drafts; the logits of every sequence that has nothing pending then, and of its drafts, are
// in logits_, in order.
void Engine::forward(std::span<const Scheduler::Turn> turns) {
    draft(turns);
    batch_.clear();
    draft_tokens_.clear();
    draft_parents_.clear();
    for (const Scheduler::Turn& turn : turns) {
        Sequence& sequence = *turn.sequence;
        sequence.begin_pass();
        Lease& lease = sequence.lease();
        const std::span<const DraftNode> drafts = sequence.drafts().nodes();
        const size_t first = draft_tokens_.size();
        for (const DraftNode& node : drafts) {
            draft_tokens_.push_back(node.token);
            draft_parents_.push_back(node.parent);
        }
        cache_.prepare(lease, turn.rows, sequence.snapshots_within(turn.rows),
                       drafts.empty() ? 0 : drafts.back().depth);
        batch_.push_back({.sequence = &lease.state(),
                          .tokens = sequence.next_tokens(turn.rows),
                          .pages = lease.pass_pages(),
                          .tails = lease.tails(),
                          .drafts = std::span(draft_tokens_).subspan(first),
                          .draft_parents = std::span(draft_parents_).subspan(first)});
    }
    const auto begin = Sequence::Clock::now();
    model_.model().forward(batch_);
    logit_rows_.clear();
    int64_t row = 0;
    for (size_t i = 0; i < turns.size(); ++i) {
        Sequence& sequence = *turns[i].sequence;
        const int64_t rows = turns[i].rows, drafts = static_cast<int64_t>(batch_[i].drafts.size());
        sequence.result().fed_tokens += rows;
        // Of a sequence that decodes, logits are reported as its drafts are accepted.
        if (sequence.request().wants_logits && !sequence.decodes()) report_logits(sequence, row, rows);
        row += rows;
        if (sequence.fed() < sequence.prompt_len()) {
            sequence.listener().prefilled(sequence.fed(), sequence.prompt_len());
        }
        if (sequence.pending() == 0) {
            for (int64_t draft = -1; draft < drafts; ++draft) logit_rows_.push_back(static_cast<int32_t>(row + draft));
        }
        row += drafts;
    }
    if (logit_rows_.empty()) return;
    const auto count = static_cast<int64_t>(logit_rows_.size());
    model_.model().logits(TensorView(logits_.as<float>(), count, model_.config().vocab_size), logit_rows_);
    const bool only_decodes = count == row;
    if (drafter_ && only_decodes) {
        drafter_->record_pass(count, std::chrono::duration<double>(Sequence::Clock::now() - begin).count());
    }
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

// Commits what a pass has fed of the batch's sequence `index`; where nothing is pending then, draws what comes next,
// along the drafts as far as they are what is drawn. logits: of the last row, then of the drafts.
void Engine::settle(Sequence& sequence, size_t index, float* logits) {
    if (sequence.pending() > 0) return cache_.commit(sequence.lease(), sequence.fed_tokens());
    RequestResult& result = sequence.result();
    const double now = sequence.seconds_since_submission();
    if (sequence.fed() == sequence.prompt_len()) {
        result.prefill_seconds = now - result.queue_seconds;
        sequence.listener().prefilled(sequence.prompt_len(), sequence.prompt_len());
    } else {
        ++result.decode_passes;
    }
    result.decode_seconds = now - result.queue_seconds - result.prefill_seconds;
    const DraftTree& drafts = sequence.drafts();
    const bool reports = sequence.request().wants_logits && sequence.decodes();
    const auto vocab_size = static_cast<size_t>(model_.config().vocab_size);
    path_.clear();
    std::optional<FinishReason> end;
    for (int32_t node = -1;;) {
        const int64_t position = sequence.fed() + static_cast<int64_t>(path_.size());
        float* row = logits + static_cast<size_t>(node + 1) * vocab_size;
        if (reports) sequence.listener().logits(position - 1, TensorView(row, 1, model_.config().vocab_size));
        end = draw(sequence, position, {row, vocab_size});
        if (end) break;
        node = drafts.child(node, sequence.tokens().back());
        if (node < 0) break;
        path_.push_back(node);
    }
    result.fed_tokens += static_cast<int64_t>(path_.size());
    if (!drafts.nodes().empty()) {
        result.drafts.record(drafts, path_);
        counted_.drafts.record(drafts, path_);
        drafter_->record(drafts, path_, !end);
    }
    model_.model().commit_drafts(index, path_);
    cache_.commit(sequence.lease(), sequence.fed_tokens());
    if (!end) end = take_only_choices(sequence);
    if (end) finish(sequence, *end);
}

// The token at a position, behind all that the sequence has; why the sequence ends, if it does.
std::optional<FinishReason> Engine::draw(Sequence& sequence, int64_t position, std::span<const float> logits) {
    RequestResult& result = sequence.result();
    if (result.generated_tokens == sequence.limit()) return sequence.at_limit();
    int32_t token = 0;
    try {
        token = sampler_.draw(logits, position, sequence.request().sampling, sequence.history(), sequence.allowed());
    } catch (const Error& error) {
        result.error = error;
        return FinishReason::failed;
    }
    if (const auto& replay = sequence.request().replay) {
        token = replay->tokens[static_cast<size_t>(position - sequence.prompt_len())];
    }
    if (result.ttft_seconds == 0.0) result.ttft_seconds = sequence.seconds_since_submission();
    return take(sequence, token, logits);
}

// A token comes next. logits: those it was drawn from; empty for none. Returns why the sequence ends, if it does.
std::optional<FinishReason> Engine::take(Sequence& sequence, int32_t token, std::span<const float> logits) {
    RequestResult& result = sequence.result();
    const std::vector<int32_t>& stops = sequence.request().stop_ids;
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) return FinishReason::stop;
    ++result.generated_tokens;
    ++counted_.generated_tokens;
    sequence.append(token);
    if (give(sequence, token, logits)) return FinishReason::stop;
    // Nobody asks what comes after the last one.
    if (result.generated_tokens == sequence.limit()) return sequence.at_limit();
    return std::nullopt;
}

// What a grammar leaves no choice about. It is fed with what comes next.
std::optional<FinishReason> Engine::take_only_choices(Sequence& sequence) {
    if (sequence.request().top_logprobs >= 0) return std::nullopt;
    while (const std::optional<int32_t> token = sequence.only_choice()) {
        if (const auto end = take(sequence, *token, {})) return end;
    }
    return std::nullopt;
}

// Tells the listener of a token. True: it completes a stop string.
bool Engine::give(Sequence& sequence, int32_t token, std::span<const float> logits) {
    StopStrings& stops = sequence.stop_strings();
    const bool stopped = token_bytes_ && stops.feed(token_bytes_(token));
    if (stopped) sequence.result().cut_bytes = stops.held();
    DrawnToken drawn{.token = token, .held_bytes = stops.held(), .logprob = 0.0f, .top_logprobs = {}};
    if (const int wanted = sequence.request().top_logprobs; wanted >= 0) {
        const double log_sum = log_sum_exp(logits, sampler_.tokens());
        drawn.logprob = token_logprob(logits, log_sum, token);
        const auto top = std::span(top_logprobs_).first(static_cast<size_t>(wanted));
        drawn.top_logprobs = top.first(top_logprobs(top, logits, log_sum, sampler_.tokens()));
    }
    sequence.listener().token(drawn);
    return stopped;
}

void Engine::finish(Sequence& sequence, FinishReason reason) {
    // What led to a logit that is not finite is not worth keeping.
    const std::unique_ptr<Sequence> done = scheduler_.remove(sequence, reason != FinishReason::failed);
    ++counted_.finished;
    counted_.form_seconds += done->result().form_seconds;
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
    if (disk_) {
        counted_.disk = disk_->counters();
        counted_.disk_at_work = disk_->at_work();
    }
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
