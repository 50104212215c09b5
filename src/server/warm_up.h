// Prompts that are read into the cache before anybody asks for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/model_text.h"
#include "server/generation_fields.h"
#include "server/reply_source.h"

namespace colugo {

struct WarmPrompt {
    int line = 0;  // of the file
    Request request;
    std::vector<std::string> unknown_fields;  // that no line before it has
};

// Of `lines`, each with the body of a chat request or blank, judged as the endpoint judges it, but for its length.
// name: of the file. stop_ids: end a reply. Throws invalid_file naming file and line.
std::vector<WarmPrompt> read_warm_lines(const std::string& lines, const std::string& name, const ModelText& text,
                                        const RequestDefaults& defaults, const std::vector<int32_t>& stop_ids);

struct WarmUp {
    int64_t prompts = 0;  // that were read
    int64_t tokens = 0;   // theirs
    int64_t cached = 0;   // of these, that were there already: from the ones before, or on disk
    // Fields that mean nothing, lines that did not fit into the context, and those that in the end are not in the cache
    // up to where the reply begins: sentences.
    std::vector<std::string> notes = {};
};

// Reads them in their order, which takes as long as requests for them would. progress: is told the tokens that are
// behind it and all there are, every now and then, and may throw to end it.
WarmUp warm_up(ReplySource& source, std::vector<WarmPrompt> prompts, int64_t ctx_size,
               const std::function<void(uint64_t done, uint64_t total)>& progress);

}  // namespace colugo
