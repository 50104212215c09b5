// Unicode normalization form C as the Hugging Face package `tokenizers` computes it.
//
// That package's tables are Unicode 9's: a code point assigned later is never composed, decomposed or moved by it. A
// model was trained on exactly that, so kNfcFixed code points are left alone here too, whatever utf8proc knows of them.
// By the stability policy of Unicode all other text has the same NFC in every version.
#pragma once

#include <string>
#include <string_view>

namespace colugo {

// `text` itself if it is in NFC, else its NFC in `storage`. `text` is UTF-8 and not part of `storage`. Time is
// O(n log n) whatever the text.
std::string_view to_nfc(std::string_view text, std::string& storage);

}  // namespace colugo
