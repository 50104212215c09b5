#include "cli/line_reader.h"

#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <new>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cli/interrupt.h"

namespace colugo {

namespace {

// A signal may reach another thread, or come just before the wait.
constexpr int kGlanceMilliseconds = 300;
constexpr int kHistoryLines = 1000;
constexpr auto kInvalid = static_cast<size_t>(-1);  // of mbrtowc
constexpr auto kIncomplete = static_cast<size_t>(-2);
constexpr std::string_view kBlanks = " \t";

// Until a read of standard input returns at once. False when interrupted, be there input or not. Calls idle() now and
// then.
template <typename Idle>
bool wait_for_input(Idle idle) {
    while (!interrupted()) {
        pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        const int ready = poll(&input, 1, kGlanceMilliseconds);
        if (ready > 0 || (ready < 0 && errno != EINTR)) return !interrupted();
        if (ready == 0) idle();
    }
    return false;
}

}  // namespace

// libedit. It calls back from C, so nothing is thrown in here.
class LineReader::Editor {
 public:
    // screen: a terminal.
    explicit Editor(std::FILE* screen);
    ~Editor();
    Editor(const Editor&) = delete;
    Editor& operator=(const Editor&) = delete;

    // continued: the line goes on with what stands above it.
    Status read(std::string& line, bool continued);

 private:
    static Editor& owner(EditLine* editor);
    static char* prompt(EditLine* editor);
    static int read_character(EditLine* editor, wchar_t* out);
    void refresh();

    std::FILE* screen_;
    EditLine* editor_;
    History* history_;
    std::mbstate_t bytes_ = {};  // of a character that is not whole yet
    bool continued_ = false;
};

LineReader::Editor::Editor(std::FILE* screen) : screen_(screen) {
    // The locale tells libedit what a character is, and how wide.
    if (std::setlocale(LC_CTYPE, "") == nullptr || std::string_view(nl_langinfo(CODESET)) != "UTF-8") {
        std::setlocale(LC_CTYPE, "C.UTF-8");
    }
    editor_ = el_init("colugo", stdin, screen, stderr);
    history_ = history_init();
    if (editor_ == nullptr || history_ == nullptr) throw std::bad_alloc();
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &Editor::prompt);
    el_set(editor_, EL_HIST, history, history_);
    el_set(editor_, EL_GETCFN, &Editor::read_character);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_BIND, "^W", "ed-delete-prev-word", nullptr);  // as shells have it
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(editor_, nullptr);  // the user's own .editrc
}

LineReader::Editor::~Editor() {
    history_end(history_);
    el_end(editor_);
}

LineReader::Editor& LineReader::Editor::owner(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<Editor*>(data);
}

char* LineReader::Editor::prompt(EditLine* editor) {
    static char first[] = "> ", next[] = "... ";
    return owner(editor).continued_ ? next : first;
}

// 1 and the character; 0 at the end of the input; -1 when interrupted, or when it cannot be read.
int LineReader::Editor::read_character(EditLine* editor, wchar_t* out) {
    Editor& self = owner(editor);
    while (true) {
        if (!wait_for_input([&] { self.refresh(); })) return -1;
        char byte = 0;
        const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return static_cast<int>(count);
        size_t used = std::mbrtowc(out, &byte, 1, &self.bytes_);
        if (used == kInvalid) {  // perhaps the beginning of the next one
            self.bytes_ = {};
            used = std::mbrtowc(out, &byte, 1, &self.bytes_);
        }
        if (used == kIncomplete) continue;
        if (used == kInvalid) *out = L'\uFFFD';
        return 1;
    }
}

// The window may have another size; and after Ctrl-Z the shell gives the terminal back as a shell has it.
void LineReader::Editor::refresh() {
    el_resize(editor_);
    termios terminal;
    if (tcgetattr(STDIN_FILENO, &terminal) != 0 || (terminal.c_lflag & ICANON) == 0) return;
    el_set(editor_, EL_PREP_TERM, 0);
    el_set(editor_, EL_PREP_TERM, 1);
    el_set(editor_, EL_REFRESH);
}

LineReader::Status LineReader::Editor::read(std::string& line, bool continued) {
    continued_ = continued;
    el_set(editor_, EL_PREP_TERM, 1);  // before the prompt invites to type
    int length = 0;
    const char* typed = el_gets(editor_, &length);
    if (typed == nullptr) {
        std::fputs(interrupted() ? "^C\n" : "\n", screen_);
        std::fflush(screen_);
        return interrupted() ? Status::interrupted : Status::end;
    }
    line.assign(typed, static_cast<size_t>(length));
    if (line.ends_with('\n')) line.pop_back();
    HistEvent event;
    if (line.find_first_not_of(kBlanks) != std::string::npos) history(history_, &event, H_ENTER, line.c_str());
    return Status::line;
}

LineReader::LineReader() : interactive_(isatty(STDIN_FILENO) == 1) {
    if (!interactive_) return;
    std::FILE* const screen = isatty(STDOUT_FILENO) == 1 ? stdout : (isatty(STDERR_FILENO) == 1 ? stderr : nullptr);
    if (screen != nullptr) editor_ = std::make_unique<Editor>(screen);
}

LineReader::~LineReader() = default;

LineReader::Status LineReader::read_plain(std::string& line) {
    size_t searched = 0;
    while (true) {
        const size_t end = held_.find('\n', searched);
        if (end != std::string::npos) {
            line.assign(held_, 0, end);
            held_.erase(0, end + 1);
            if (line.ends_with('\r')) line.pop_back();
            return Status::line;
        }
        searched = held_.size();
        if (!wait_for_input([] {})) return Status::interrupted;
        char buffer[1 << 14];
        const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (count < 0 && errno != EINTR) fail_errno("read", "standard input");
        if (count > 0) held_.append(buffer, static_cast<size_t>(count));
        if (count != 0) continue;
        line = std::exchange(held_, {});
        return line.empty() ? Status::end : Status::line;
    }
}

LineReader::Status LineReader::read(std::string& line) {
    line.clear();
    std::string part;
    for (bool continued = false;; continued = true) {
        const Status status = editor_ ? editor_->read(part, continued) : read_plain(part);
        if (status == Status::end && !line.empty()) return Status::line;
        if (status != Status::line) return status;
        const bool goes_on = part.ends_with('\\');
        if (goes_on) part.back() = '\n';
        line += part;
        if (!goes_on) return Status::line;
    }
}

}  // namespace colugo
