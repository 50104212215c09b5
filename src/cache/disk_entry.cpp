#include "cache/disk_entry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "kernels/kernel_table.h"

namespace colugo {

using kernels::kPage;

namespace {

constexpr std::array<char, 8> kMagic = {'c', 'o', 'l', 'u', 'g', 'o', 's', 's'};
constexpr uint32_t kVersion = 2;
constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr int kCompressionLevel = 1;
// What zstd looks back by, and so most of its memory, on reading as well: a damaged file cannot ask for more.
constexpr int kWindowLog = 19;

using Checksum = std::array<std::byte, 16>;

// A part of the file that is compressed and checked by itself.
struct Section {
    uint64_t bytes = 0;  // in the file
    Checksum checksum = {};
};

// The begin of a file, as it lies there. Behind it: the key, the scope, the tokens, the section of the pages, and the
// section of border, rows and tail.
struct FixedHead {
    std::array<char, 8> magic = kMagic;
    uint32_t version = kVersion;
    uint32_t key_bytes = 0;
    uint64_t scope_bytes = 0;
    StateSizes sizes;
    EntryPlace place;
    Section pages;
    Section state;
    Checksum checksum = {};  // of all above, the key, the scope and the tokens
};
static_assert(sizeof(FixedHead) == 136 && std::has_unique_object_representations_v<FixedHead>);
static_assert(std::endian::native == std::endian::little);

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

// An open file and its name.
class EntryFile {
 public:
    EntryFile(const std::string& path, int flags, const char* mode) : path_(path) {
        // Not by way of links, not waiting for the other end of a pipe, and for nobody else's eyes.
        const int handle = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (handle < 0) fail_errno("open", path);
        struct stat status {};
        if (fstat(handle, &status) == 0 && S_ISREG(status.st_mode)) {
            bytes_ = static_cast<uint64_t>(status.st_size);
            file_.reset(fdopen(handle, mode));
        }
        if (file_ != nullptr) return;
        close(handle);
        fail(ErrorCode::io, "cannot open {}: not a regular file", path);
    }

    const std::string& path() const { return path_; }
    uint64_t bytes() const { return bytes_; }  // when it was opened

    void read(void* to, size_t bytes) {
        if (std::fread(to, 1, bytes, file_.get()) == bytes) return;
        if (std::ferror(file_.get()) != 0) fail_errno("read", path_);
        fail(ErrorCode::invalid_file, "{} ends too early", path_);
    }
    void write(const void* from, size_t bytes) {
        if (std::fwrite(from, 1, bytes, file_.get()) != bytes) fail_errno("write", path_);
    }
    void seek(uint64_t offset) {
        if (fseeko(file_.get(), static_cast<off_t>(offset), SEEK_SET) != 0) fail_errno("write", path_);
    }
    // Where the system tells what it could not write.
    void finish() {
        if (std::fclose(file_.release()) != 0) fail_errno("write", path_);
    }

 private:
    std::string path_;
    std::unique_ptr<std::FILE, CloseFile> file_;
    uint64_t bytes_ = 0;
};

class Hasher {
 public:
    Hasher() : state_(XXH3_createState()) {
        COLUGO_CHECK(state_ != nullptr);
        reset();
    }
    ~Hasher() { XXH3_freeState(state_); }
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;

    void reset() { XXH3_128bits_reset(state_); }
    void add(const void* bytes, size_t count) { XXH3_128bits_update(state_, bytes, count); }
    Checksum checksum() const {
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_));
        return std::bit_cast<Checksum>(canonical);
    }

 private:
    XXH3_state_t* state_;
};

Checksum checksum_of(const FixedHead& head, std::string_view key, const Prefix& prefix) {
    Hasher hasher;
    hasher.add(&head, offsetof(FixedHead, checksum));
    hasher.add(key.data(), key.size());
    hasher.add(prefix.scope.data(), prefix.scope.size());
    hasher.add(prefix.tokens.data(), prefix.tokens.size_bytes());
    return hasher.checksum();
}

uint64_t head_bytes(const FixedHead& head) {
    return sizeof head + head.key_bytes + head.scope_bytes +
           static_cast<uint64_t>(head.place.position) * sizeof(int32_t);
}

// Whether the sizes the head claims, none of them trusted, make up the file.
bool fits(const FixedHead& head, uint64_t file_bytes) {
    const EntryPlace& place = head.place;
    if (place.position <= 0 || static_cast<uint64_t>(place.position) > file_bytes / sizeof(int32_t)) return false;
    if (place.parent < 0 || place.parent >= place.position) return false;
    if (head.pages.bytes > file_bytes || head.state.bytes > file_bytes || head.scope_bytes > file_bytes) return false;
    return head_bytes(head) + head.pages.bytes + head.state.bytes == file_bytes;
}

// Reads up to the sections.
FixedHead read_head_of(EntryFile& file, const std::string& key, const StateSizes& sizes, OwnedPrefix& prefix) {
    FixedHead head;
    file.read(&head, sizeof head);
    if (head.magic != kMagic) fail(ErrorCode::invalid_file, "{} is not a snapshot", file.path());
    if (head.version != kVersion) {
        fail(ErrorCode::unsupported, "{} is of format version {}, expected {}", file.path(), head.version, kVersion);
    }
    if (!fits(head, file.bytes())) {
        fail(ErrorCode::invalid_file, "{} is damaged: its {} bytes are not what its head says", file.path(),
             file.bytes());
    }
    std::string file_key(head.key_bytes, '\0');
    prefix.scope.resize(head.scope_bytes);
    prefix.tokens.resize(static_cast<size_t>(head.place.position));
    file.read(file_key.data(), file_key.size());
    file.read(prefix.scope.data(), prefix.scope.size());
    file.read(prefix.tokens.data(), prefix.tokens.size() * sizeof(int32_t));
    if (checksum_of(head, file_key, prefix) != head.checksum) {
        fail(ErrorCode::invalid_file, "{} is damaged: its head does not fit its checksum", file.path());
    }
    if (file_key != key || head.sizes != sizes) {
        fail(ErrorCode::unsupported, "{} belongs to another model or other settings", file.path());
    }
    return head;
}

}  // namespace

int64_t EntryPlace::first_page() const {
    return parent / kPage;
}

int64_t EntryPlace::end_full_page() const {
    return position / kPage;
}

int64_t EntryPlace::end_page() const {
    return (position + kPage - 1) / kPage;
}

struct EntryCodec::Contexts {
    struct Free {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
        void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
    };
    std::unique_ptr<ZSTD_CCtx, Free> compress{ZSTD_createCCtx()};
    std::unique_ptr<ZSTD_DCtx, Free> decompress{ZSTD_createDCtx()};
    std::vector<std::byte> buffer = std::vector<std::byte>(kBufferBytes);   // of the file's bytes
    std::vector<std::byte> scratch = std::vector<std::byte>(kBufferBytes);  // for pages nobody wants
    Hasher hasher;
    const std::atomic<bool>& given_up;

    explicit Contexts(const std::atomic<bool>& given_up_by) : given_up(given_up_by) {
        COLUGO_CHECK(compress != nullptr && decompress != nullptr);
        const bool taken =
            ZSTD_isError(ZSTD_CCtx_setParameter(compress.get(), ZSTD_c_compressionLevel, kCompressionLevel)) == 0 &&
            ZSTD_isError(ZSTD_CCtx_setParameter(compress.get(), ZSTD_c_windowLog, kWindowLog)) == 0 &&
            ZSTD_isError(ZSTD_DCtx_setParameter(decompress.get(), ZSTD_d_windowLogMax, kWindowLog)) == 0;
        COLUGO_CHECK(taken);
    }

    // Now and then.
    void go_on(const EntryFile& file) const {
        if (given_up) fail(ErrorCode::io, "{} took too long", file.path());
    }

    class Writer;
    class Reader;
};

// Compresses into one section of a file.
class EntryCodec::Contexts::Writer {
 public:
    Writer(Contexts& contexts, EntryFile& file, uint64_t most_bytes)
        : contexts_(contexts), file_(file), most_bytes_(most_bytes) {
        contexts_.hasher.reset();
        ZSTD_CCtx_reset(contexts_.compress.get(), ZSTD_reset_session_only);
    }

    void put(std::span<const std::byte> bytes) { run({bytes.data(), bytes.size(), 0}, ZSTD_e_continue); }
    Section finish() {
        run({nullptr, 0, 0}, ZSTD_e_end);
        section_.checksum = contexts_.hasher.checksum();
        return section_;
    }

 private:
    void run(ZSTD_inBuffer input, ZSTD_EndDirective directive) {
        for (bool done = false; !done;) {
            contexts_.go_on(file_);
            ZSTD_outBuffer output{contexts_.buffer.data(), contexts_.buffer.size(), 0};
            const size_t left = ZSTD_compressStream2(contexts_.compress.get(), &output, &input, directive);
            COLUGO_CHECK(ZSTD_isError(left) == 0);
            section_.bytes += output.pos;
            if (section_.bytes > most_bytes_) {
                fail(ErrorCode::resource_exhausted, "it does not fit the limit, beside those it builds on");
            }
            contexts_.hasher.add(output.dst, output.pos);
            file_.write(output.dst, output.pos);
            done = directive == ZSTD_e_end ? left == 0 : input.pos == input.size;
        }
    }

    Contexts& contexts_;
    EntryFile& file_;
    uint64_t most_bytes_;
    Section section_;
};

// Decompresses one section of a file, which stands at its begin.
class EntryCodec::Contexts::Reader {
 public:
    Reader(Contexts& contexts, EntryFile& file, const Section& section)
        : contexts_(contexts), file_(file), section_(section), left_(section.bytes) {
        contexts_.hasher.reset();
        ZSTD_DCtx_reset(contexts_.decompress.get(), ZSTD_reset_session_only);
    }

    // The next bytes of what was compressed.
    void get(std::span<std::byte> to) {
        ZSTD_outBuffer output{to.data(), to.size(), 0};
        while (output.pos < output.size) {
            contexts_.go_on(file_);
            if (input_.pos == input_.size) refill();
            // Of a file that is whole, something moves each time: zstd may hold output back when input has ended.
            const size_t before = output.pos + input_.pos;
            const size_t result = ZSTD_decompressStream(contexts_.decompress.get(), &output, &input_);
            if (ZSTD_isError(result) != 0 || output.pos + input_.pos == before) damaged();
        }
    }
    void skip(uint64_t bytes) {
        while (bytes > 0) {
            const uint64_t count = std::min<uint64_t>(bytes, contexts_.scratch.size());
            get(std::span(contexts_.scratch).first(count));
            bytes -= count;
        }
    }
    // Goes through what is left, and compares the checksum.
    void finish() {
        while (left_ > 0) refill();
        if (contexts_.hasher.checksum() != section_.checksum) damaged();
    }

 private:
    void refill() {
        const uint64_t count = std::min<uint64_t>(left_, contexts_.buffer.size());
        file_.read(contexts_.buffer.data(), count);
        contexts_.hasher.add(contexts_.buffer.data(), count);
        input_ = {contexts_.buffer.data(), count, 0};
        left_ -= count;
    }
    [[noreturn]] void damaged() const {
        fail(ErrorCode::invalid_file, "{} is damaged: its content does not fit its checksum", file_.path());
    }

    Contexts& contexts_;
    EntryFile& file_;
    const Section& section_;
    uint64_t left_;
    ZSTD_inBuffer input_ = {nullptr, 0, 0};
};

EntryCodec::EntryCodec(std::string key, StateSizes sizes)
    : key_(std::move(key)), sizes_(sizes), contexts_(std::make_unique<Contexts>(given_up_)) {
    COLUGO_CHECK(sizes.page > 0 && sizes.border > 0 && sizes.rows > 0 && sizes.tail > 0);
}

EntryCodec::~EntryCodec() = default;

// What the second section is made of, in its order.
std::vector<std::span<std::byte>> EntryCodec::state_of(int64_t position, const StatePieces& pieces) const {
    std::vector<std::span<std::byte>> state = {{pieces.border, sizes_.border}};
    if (position % kPage != 0) state.emplace_back(pieces.rows, sizes_.rows);
    state.emplace_back(pieces.tail, sizes_.tail);
    return state;
}

EntryHead EntryCodec::read_head(const std::string& path) const {
    EntryFile file(path, O_RDONLY, "rb");
    EntryHead head;
    head.place = read_head_of(file, key_, sizes_, head.prefix).place;
    head.file_bytes = file.bytes();
    return head;
}

uint64_t EntryCodec::write(const std::string& path, const Prefix& prefix, int64_t parent, const StatePieces& from,
                           uint64_t most_bytes) {
    EntryFile file(path, O_WRONLY | O_CREAT | O_TRUNC, "wb");
    FixedHead head;
    head.key_bytes = static_cast<uint32_t>(key_.size());
    head.scope_bytes = prefix.scope.size();
    head.sizes = sizes_;
    head.place = {prefix.length(), parent};
    const uint64_t begin = head_bytes(head);
    uint64_t room = most_bytes - std::min(most_bytes, begin);
    file.seek(begin);

    Contexts::Writer pages(*contexts_, file, room);
    for (int64_t page = head.place.first_page(); page < head.place.end_page(); ++page) {
        pages.put({from.pages[static_cast<size_t>(page)], sizes_.page});
    }
    head.pages = pages.finish();
    room -= head.pages.bytes;
    Contexts::Writer state(*contexts_, file, room);
    for (const std::span<std::byte> piece : state_of(head.place.position, from)) state.put(piece);
    head.state = state.finish();

    head.checksum = checksum_of(head, key_, prefix);
    file.seek(0);
    file.write(&head, sizeof head);
    file.write(key_.data(), key_.size());
    file.write(prefix.scope.data(), prefix.scope.size());
    file.write(prefix.tokens.data(), prefix.tokens.size_bytes());
    file.finish();
    return begin + head.pages.bytes + head.state.bytes;
}

void EntryCodec::read(const std::string& path, const Prefix& prefix, int64_t parent, const StatePieces& to, Part part) {
    EntryFile file(path, O_RDONLY, "rb");
    OwnedPrefix file_prefix;
    const FixedHead head = read_head_of(file, key_, sizes_, file_prefix);
    if (!std::ranges::equal(prefix.tokens, file_prefix.tokens) || prefix.scope != file_prefix.scope ||
        head.place.parent != parent) {
        fail(ErrorCode::invalid_file, "{} is not the snapshot it was", path);
    }
    Contexts::Reader pages(*contexts_, file, head.pages);
    const int64_t end = part == Part::all ? head.place.end_page() : head.place.end_full_page();
    for (int64_t page = head.place.first_page(); page < end; ++page) {
        std::byte* wanted = to.pages[static_cast<size_t>(page)];
        if (wanted != nullptr) {
            pages.get({wanted, sizes_.page});
        } else {
            pages.skip(sizes_.page);
        }
    }
    pages.finish();
    if (part == Part::full_pages) return;
    Contexts::Reader state(*contexts_, file, head.state);
    for (const std::span<std::byte> piece : state_of(head.place.position, to)) state.get(piece);
    state.finish();
}

}  // namespace colugo
