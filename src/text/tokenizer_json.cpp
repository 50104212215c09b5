// A document of the whole file would hold a million small strings: the lists are taken from the parser's events.
#include "text/tokenizer_json.h"

#include <utility>

#include "base/error.h"

namespace colugo {
namespace {

using Json = nlohmann::json;

class Reader : public nlohmann::json_sax<Json> {
 public:
    Reader(TokenizerJson& result, const std::string& name) : result_(result), name_(name) {}

    bool null() override { return value(Json(nullptr)); }
    bool boolean(bool value_read) override { return value(Json(value_read)); }
    bool number_float(number_float_t number, const string_t&) override { return value(Json(number)); }
    bool binary(binary_t&) override { return false; }  // not in JSON text
    bool number_integer(number_integer_t number) override { return integer(number, Json(number)); }
    bool number_unsigned(number_unsigned_t number) override {
        const auto top = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
        return integer(static_cast<int64_t>(std::min<uint64_t>(number, top)), Json(number));
    }

    bool string(string_t& text) override {
        if (list_ != List::merges) return value(Json(std::move(text)));
        if (pair_size_ < 0) {
            const size_t space = text.find(' ');
            if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) bad_merge();
            result_.merges.push_back({text.substr(0, space), text.substr(space + 1)});
        } else if (pair_size_ == 0) {
            result_.merges.push_back({std::move(text), {}});
            ++pair_size_;
        } else if (pair_size_ == 1) {
            result_.merges.back().right = std::move(text);
            ++pair_size_;
        } else {
            bad_merge();
        }
        return true;
    }

    bool key(string_t& text) override {
        key_ = std::move(text);
        return true;
    }

    bool start_object(size_t) override {
        if (list_ != List::none) bad_item();
        if (in_model() && key_ == "vocab") {
            list_ = List::vocab;
            return value_of_list();
        }
        return open(Json::object());
    }

    bool start_array(size_t) override {
        if (list_ == List::merges && pair_size_ < 0) {
            pair_size_ = 0;
            return true;
        }
        if (list_ != List::none) bad_item();
        if (in_model() && key_ == "merges") {
            list_ = List::merges;
            return value_of_list();
        }
        return open(Json::array());
    }

    bool end_object() override {
        if (list_ == List::vocab) {
            list_ = List::none;
        } else {
            open_.pop_back();
        }
        return true;
    }

    bool end_array() override {
        if (list_ == List::none) {
            open_.pop_back();
        } else if (pair_size_ < 0) {
            list_ = List::none;
        } else {
            if (pair_size_ != 2) bad_merge();
            pair_size_ = -1;
        }
        return true;
    }

    bool parse_error(size_t position, const std::string& last, const nlohmann::detail::exception&) override {
        fail(ErrorCode::invalid_file, "{} is not valid JSON at byte {}, after '{}'", name_, position,
             last.substr(0, 40));
    }

 private:
    enum class List { none, vocab, merges };

    // Is the next value a member of the object "model" of the outermost object?
    bool in_model() const { return open_.size() == 2 && open_.back() == model_; }

    bool integer(int64_t number, Json&& json) {
        if (list_ != List::vocab) return value(std::move(json));
        result_.vocab.push_back({std::move(key_), number});
        return true;
    }

    bool value(Json&& json) {
        if (list_ != List::none) bad_item();
        place(std::move(json));
        return true;
    }

    bool value_of_list() {
        place(Json(true));
        return true;
    }

    bool open(Json&& container) {
        Json* placed = place(std::move(container));
        if (open_.size() == 1 && open_.back()->is_object() && key_ == "model") model_ = placed;
        open_.push_back(placed);
        return true;
    }

    // Pointers into a container stay good while it is open: only its last element has open children.
    Json* place(Json&& json) {
        if (open_.empty()) return &(result_.document = std::move(json));
        Json& parent = *open_.back();
        if (parent.is_object()) return &(parent[key_] = std::move(json));
        parent.push_back(std::move(json));
        return &parent.back();
    }

    [[noreturn]] void bad_merge() {
        fail(ErrorCode::invalid_file, "{}: model.merges[{}] has to be \"left right\" or [\"left\", \"right\"]", name_,
             result_.merges.empty() ? 0 : result_.merges.size() - 1);
    }

    [[noreturn]] void bad_item() {
        if (list_ == List::merges) bad_merge();
        fail(ErrorCode::invalid_file, "{}: model.vocab[\"{}\"] has to be an integer", name_, key_);
    }

    TokenizerJson& result_;
    const std::string& name_;
    std::vector<Json*> open_;  // the containers being read, outermost first
    const Json* model_ = nullptr;
    List list_ = List::none;
    int pair_size_ = -1;  // strings read of the merge being read; -1 outside of one
    std::string key_;
};

}  // namespace

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& name) {
    TokenizerJson result;
    Reader reader(result, name);
    Json::sax_parse(text.data(), text.data() + text.size(), &reader);
    return result;
}

}  // namespace colugo
