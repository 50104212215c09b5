#include "text/detokenizer.h"

#include "text/utf8.h"

namespace colugo {

void Detokenizer::feed(int32_t id, std::string& out) {
    if (skip_special_ && tokenizer_->is_special(id)) return;
    held_.append(tokenizer_->token_bytes(id));
    size_t done = 0;
    while (done < held_.size()) {
        const Utf8Step step = utf8_step(held_, done);
        if (step.kind == Utf8Step::incomplete) break;
        if (step.kind == Utf8Step::character) {
            out.append(held_, done, step.length);
        } else {
            out.append(kReplacementCharacter);
        }
        done += step.length;
    }
    held_.erase(0, done);
}

void Detokenizer::flush(std::string& out) {
    if (!held_.empty()) out.append(kReplacementCharacter);
    held_.clear();
}

}  // namespace colugo
