#include "text/detokenizer.h"

namespace colugo {

void Detokenizer::feed(int32_t id, std::string& out) {
    if (!skip_special_ || !tokenizer_->is_special(id)) characters_.feed(tokenizer_->token_bytes(id), out);
}

}  // namespace colugo
