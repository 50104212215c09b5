// Raw logits on disk: little-endian f32, row-major [positions, vocab_size]. Under its own name only once it is whole.
#pragma once

#include <cstdio>
#include <string>

#include "base/tensor_view.h"

namespace colugo {

class LogitsFile {
 public:
    // Throws not_found or io naming the path; invalid_argument when it is something else than a regular file.
    explicit LogitsFile(std::string path);
    ~LogitsFile();
    LogitsFile(const LogitsFile&) = delete;
    LogitsFile& operator=(const LogitsFile&) = delete;

    // Rows of f32, whole.
    void append(TensorView logits);
    void publish();

 private:
    std::string path_;
    std::string temporary_path_;
    std::FILE* file_;
};

}  // namespace colugo
