// The folder that a run leaves behind: all of it, or nothing.
#pragma once

#include <map>
#include <string>

namespace colugo {

class ResultFolder {
 public:
    // Makes sure, before the work, that `path` can be filled: it is nothing yet or an empty folder, and its parent can
    // be written to. Throws invalid_argument or io.
    explicit ResultFolder(std::string path);
    // Leaves nothing behind that was not published.
    ~ResultFolder();
    ResultFolder(const ResultFolder&) = delete;
    ResultFolder& operator=(const ResultFolder&) = delete;

    const std::string& path() const { return path_; }
    // Texts by their path in the folder, which is there from then on. Throws io; what was written before is kept, and
    // named.
    void publish(const std::map<std::string, std::string>& files);

 private:
    std::string path_, temporary_;
    bool published_ = false;
};

}  // namespace colugo
