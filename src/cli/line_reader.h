// Lines of standard input: edited and remembered where it is a terminal, as they are where it is none.
#pragma once

#include <memory>
#include <string>

namespace colugo {

class LineReader {
 public:
    enum class Status { line, end, interrupted };

    LineReader();
    ~LineReader();
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;

    // Standard input is a terminal.
    bool interactive() const { return interactive_; }
    // The next line, without its break; one that ends in a backslash goes on with the next one, a line break between
    // them. Interrupted when interrupted() is true first. Throws io when it cannot be read.
    Status read(std::string& line);

 private:
    class Editor;

    Status read_plain(std::string& line);

    bool interactive_;
    std::unique_ptr<Editor> editor_;  // where there is a terminal to show what is typed
    std::string held_;                // read and not given out
};

}  // namespace colugo
