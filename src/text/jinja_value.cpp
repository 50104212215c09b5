#include "text/jinja_value.h"

#include <algorithm>
#include <cmath>

#include "text/jinja_budget.h"
#include "text/jinja_fault.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

constexpr size_t kIndexedDictSize = 12;  // below, a scan is faster than a hash

std::string_view string_key(const Value& key) {
    return key.bytes();
}

void check_depth(int depth) {
    if (depth > kMaxValueDepth) limit_fault("a value nests more than {} levels deep", kMaxValueDepth);
}

// Compares an integer with a double without losing bits: -1, 0, 1, and 2 for NaN.
int compare_numbers(const Value& left, const Value& right) {
    if (left.is_integral() && right.is_integral()) {
        return left.as_integer() < right.as_integer() ? -1 : left.as_integer() > right.as_integer() ? 1 : 0;
    }
    const long double a = left.is_integral() ? static_cast<long double>(left.as_integer()) : left.as_double();
    const long double b = right.is_integral() ? static_cast<long double>(right.as_integer()) : right.as_double();
    if (std::isnan(a) || std::isnan(b)) return 2;
    return a < b ? -1 : a > b ? 1 : 0;
}

bool same_items(Budget& budget, const std::vector<Value>& left, const std::vector<Value>& right, int depth) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [&budget, depth](const Value& a, const Value& b) { return equals(budget, a, b, depth + 1); });
}

bool same_entries(Budget& budget, const DictObject& left, const DictObject& right, int depth) {
    if (left.entries.size() != right.entries.size()) return false;
    return std::all_of(left.entries.begin(), left.entries.end(), [&](const auto& entry) {
        const Value* other = right.find(budget, entry.first);
        return other != nullptr && equals(budget, entry.second, *other, depth + 1);
    });
}

}  // namespace

int depth_over(const std::vector<Value>& items) {
    int depth = 1;
    for (const Value& item : items) depth = std::max(depth, item.depth() + 1);
    check_depth(depth);
    return depth;
}

int depth_over(const Value& inner) {
    check_depth(inner.depth() + 1);
    return inner.depth() + 1;
}

Value Value::undefined(std::string why) {
    auto object = std::make_shared<UndefinedObject>();
    object->why = std::move(why);
    return Value::object(Kind::undefined, std::move(object));
}

Value Value::boolean(bool value) {
    Value result(Kind::boolean);
    result.integer_ = value ? 1 : 0;
    return result;
}

Value Value::integer(Integer value) {
    Value result(Kind::integer);
    result.integer_ = value;
    return result;
}

Value Value::real(double value) {
    Value result(Kind::real);
    result.real_ = value;
    return result;
}

Value Value::string(Text text) {
    auto object = std::make_shared<StringObject>();
    object->text = std::move(text);
    return Value::object(Kind::string, std::move(object));
}

Value Value::sequence(Kind kind, std::vector<Value> items) {
    auto object = std::make_shared<SequenceObject>();
    object->depth = depth_over(items);
    object->hashable = std::all_of(items.begin(), items.end(), jinja::hashable);
    object->items = std::move(items);
    object->type_name = kind == Kind::list ? "list" : "tuple";
    return Value::object(kind, std::move(object));
}

Value Value::group(Value grouper, std::vector<Value> items) {
    std::vector<Value> pair;
    pair.push_back(std::move(grouper));
    pair.push_back(list(std::move(items)));
    Value result = tuple(std::move(pair));
    result.as<SequenceObject>().group = true;
    return result;
}

Value Value::dict(std::vector<std::pair<Value, Value>> entries) {
    auto object = std::make_shared<DictObject>();
    for (const auto& [key, value] : entries) object->depth = std::max({object->depth, key.depth(), value.depth() + 1});
    check_depth(object->depth);
    object->entries = std::move(entries);
    if (object->entries.size() > kIndexedDictSize) {
        for (size_t i = 0; i < object->entries.size(); ++i) {
            const Value& key = object->entries[i].first;
            if (key.is(Kind::string)) object->index.emplace(string_key(key), i);
        }
    }
    return Value::object(Kind::dict, std::move(object));
}

Value Value::view(const char* type_name, std::vector<Value> items) {
    auto object = std::make_shared<SequenceObject>();
    object->depth = depth_over(items);
    object->items = std::move(items);
    object->type_name = type_name;
    return Value::object(Kind::view, std::move(object));
}

Value Value::iterator(const char* type_name, std::vector<Value> items) {
    auto object = std::make_shared<IteratorObject>();
    object->depth = depth_over(items);
    object->items = std::move(items);
    object->type_name = type_name;
    return Value::object(Kind::iterator, std::move(object));
}

Value Value::function(const FunctionDefinition* definition) {
    auto object = std::make_shared<FunctionObject>();
    object->definition = definition;
    return Value::object(Kind::function, std::move(object));
}

Value Value::method(Value self, const MethodDefinition* definition) {
    auto object = std::make_shared<MethodObject>();
    object->depth = depth_over(self);
    object->self = std::move(self);
    object->definition = definition;
    return Value::object(Kind::method, std::move(object));
}

Value Value::object(Kind kind, std::shared_ptr<Object> object) {
    Value result(kind);
    result.object_ = std::move(object);
    return result;
}

Value Value::from_json(const nlohmann::ordered_json& json, int depth) {
    check_depth(depth + 1);
    Value result;
    switch (json.type()) {
        case nlohmann::ordered_json::value_t::boolean:
            result = boolean(json.get<bool>());
            break;
        case nlohmann::ordered_json::value_t::number_integer:
            result = integer(json.get<int64_t>());
            break;
        case nlohmann::ordered_json::value_t::number_unsigned:
            result = integer(json.get<uint64_t>());
            break;
        case nlohmann::ordered_json::value_t::number_float:
            result = real(json.get<double>());
            break;
        case nlohmann::ordered_json::value_t::string:
            return string(Text(json.get_ref<const std::string&>(), true));
        case nlohmann::ordered_json::value_t::array: {
            std::vector<Value> items;
            items.reserve(json.size());
            for (const auto& item : json) items.push_back(from_json(item, depth + 1));
            result = list(std::move(items));
            break;
        }
        case nlohmann::ordered_json::value_t::object: {
            std::vector<std::pair<Value, Value>> entries;
            entries.reserve(json.size());
            for (const auto& [key, value] : json.items()) {
                entries.emplace_back(string(Text(key, true)), from_json(value, depth + 1));
            }
            result = dict(std::move(entries));
            break;
        }
        default:
            result = none();
    }
    result.content_ = true;
    return result;
}

double Value::as_double() const {
    return kind_ == Kind::real ? real_ : static_cast<double>(integer_);
}

const Text& Value::text() const {
    return as<StringObject>().text;
}

const std::vector<Value>& Value::items() const {
    return as<SequenceObject>().items;
}

const Value* DictObject::find(std::string_view key) const {
    if (!index.empty()) {
        const auto found = index.find(key);
        return found == index.end() ? nullptr : &entries[found->second].second;
    }
    for (const auto& [name, value] : entries) {
        if (name.is(Kind::string) && string_key(name) == key) return &value;
    }
    return nullptr;
}

const Value* DictObject::find(Budget& budget, const Value& key) const {
    if (key.is(Kind::string)) return find(string_key(key));
    if (!hashable(key)) fault("a {} cannot be the key of a dict", type_name(key));
    for (const auto& [name, value] : entries) {
        if (equals(budget, name, key)) return &value;
    }
    return nullptr;
}

size_t RangeObject::size() const {
    if (step > 0) return start < stop ? static_cast<size_t>((stop - start - 1) / step + 1) : 0;
    return start > stop ? static_cast<size_t>((start - stop - 1) / -step + 1) : 0;
}

Value* NamespaceObject::find(std::string_view name) {
    for (auto& [attribute, value] : attributes) {
        if (attribute == name) return &value;
    }
    return nullptr;
}

const char* type_name(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return "Undefined";
        case Kind::none:
            return "NoneType";
        case Kind::boolean:
            return "bool";
        case Kind::integer:
            return "int";
        case Kind::real:
            return "float";
        case Kind::string:
            return value.text().markup() ? "Markup" : "str";
        case Kind::list:
        case Kind::tuple:
        case Kind::view:
            return value.as<SequenceObject>().type_name;
        case Kind::dict:
            return "dict";
        case Kind::range:
            return "range";
        case Kind::iterator:
            return value.as<IteratorObject>().type_name;
        case Kind::name_space:
            return "Namespace";
        case Kind::loop:
            return "LoopContext";
        case Kind::macro:
            return "Macro";
        case Kind::function:
        case Kind::method:
            return "function";
        case Kind::cycler:
            return "Cycler";
        case Kind::joiner:
            return "Joiner";
    }
    return "object";
}

bool truth(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
        case Kind::none:
            return false;
        case Kind::boolean:
        case Kind::integer:
            return value.as_integer() != 0;
        case Kind::real:
            return value.as_double() != 0;
        case Kind::iterator:
            return true;
        case Kind::string:
            return !value.bytes().empty();
        default:
            return length_of(value).value_or(1) != 0;
    }
}

bool equals(Budget& budget, const Value& left, const Value& right, int depth) {
    check_depth(depth);
    budget.charge(1);
    if (left.is_number() && right.is_number()) return compare_numbers(left, right) == 0;
    if (left.kind() != right.kind()) return false;
    switch (left.kind()) {
        case Kind::undefined:
        case Kind::none:
            return true;
        case Kind::string:
            if (left.bytes().size() != right.bytes().size()) return false;
            budget.charge_bytes(left.bytes().size());
            return left.bytes() == right.bytes();
        case Kind::list:
        case Kind::tuple:
            return left.identity() == right.identity() || same_items(budget, left.items(), right.items(), depth);
        case Kind::dict:
            return left.identity() == right.identity() ||
                   same_entries(budget, left.as<DictObject>(), right.as<DictObject>(), depth);
        case Kind::range: {
            const auto& a = left.as<RangeObject>();
            const auto& b = right.as<RangeObject>();
            return a.size() == b.size() &&
                   (a.size() == 0 || (a.start == b.start && (a.size() == 1 || a.step == b.step)));
        }
        case Kind::function:
            return left.as<FunctionObject>().definition == right.as<FunctionObject>().definition;
        default:
            return left.identity() == right.identity();
    }
}

bool less(Budget& budget, const Value& left, const Value& right, int depth) {
    check_depth(depth);
    budget.charge(1);
    if (left.is_number() && right.is_number()) return compare_numbers(left, right) == -1;
    if (left.is(Kind::string) && right.is(Kind::string)) {
        budget.charge_bytes(std::min(left.bytes().size(), right.bytes().size()));
        return left.bytes() < right.bytes();
    }
    if (left.kind() == right.kind() && (left.is(Kind::list) || left.is(Kind::tuple))) {
        const auto& a = left.items();
        const auto& b = right.items();
        for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
            if (!equals(budget, a[i], b[i], depth + 1)) return less(budget, a[i], b[i], depth + 1);
        }
        return a.size() < b.size();
    }
    for (const Value* side : {&left, &right}) {
        if (side->is(Kind::undefined))
            fault("{}", side->identity() ? side->as<UndefinedObject>().why : "undefined value");
    }
    fault("'{}' and '{}' have no order", type_name(left), type_name(right));
}

bool hashable(const Value& value) {
    if (value.is(Kind::tuple)) return value.as<SequenceObject>().hashable;
    return !value.is(Kind::list) && !value.is(Kind::dict) && !value.is(Kind::view);
}

std::optional<size_t> length_of(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return 0;
        case Kind::string:
            return count_code_points(value.bytes());
        case Kind::list:
        case Kind::tuple:
        case Kind::view:
            return value.items().size();
        case Kind::dict:
            return value.as<DictObject>().entries.size();
        case Kind::range:
            return value.as<RangeObject>().size();
        default:
            return std::nullopt;
    }
}

bool iterable(const Value& value) {
    return value.is(Kind::iterator) || value.is(Kind::loop) || length_of(value).has_value();
}

std::vector<Value> iterate(Budget& budget, const Value& value) {
    std::vector<Value> items;
    switch (value.kind()) {
        case Kind::undefined:
            break;
        case Kind::list:
        case Kind::tuple:
        case Kind::view:
            return value.items();
        case Kind::dict:
            for (const auto& entry : value.as<DictObject>().entries) items.push_back(entry.first);
            break;
        case Kind::string: {
            const Text& text = value.text();
            budget.charge_items(text.size());
            for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
                next_code_point(text.bytes(), end);
                items.push_back(Value::string(text.slice(begin, end).with_markup(false)));
            }
            break;
        }
        case Kind::range: {
            const auto& range = value.as<RangeObject>();
            budget.charge(range.size());
            for (size_t i = 0, size = range.size(); i < size; ++i) {
                items.push_back(Value::integer(range.start + static_cast<int64_t>(i) * range.step));
                items.back().mark_content(value.content());
            }
            break;
        }
        case Kind::iterator: {
            auto& iterator = value.as<IteratorObject>();
            items.assign(std::make_move_iterator(iterator.items.begin() + static_cast<std::ptrdiff_t>(iterator.next)),
                         std::make_move_iterator(iterator.items.end()));
            iterator.items.clear();
            iterator.next = 0;
            break;
        }
        default:
            fault("'{}' object is not iterable", type_name(value));
    }
    return items;
}

}  // namespace colugo::jinja
