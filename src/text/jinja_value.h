// Values of the template language, with Python's semantics. All are immutable but namespaces, iterators, loops, cyclers
// and joiners. Containers may not nest deeper than kMaxValueDepth, so recursion over a value is bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja_text.h"

namespace colugo::jinja {

// Holds every 64-bit integer of JSON, signed or not, and what arithmetic makes of them; overflow is a fault.
__extension__ typedef __int128 Integer;

constexpr int kMaxValueDepth = 200;

enum class Kind : uint8_t {
    undefined,
    none,
    boolean,
    integer,
    real,
    string,
    list,
    tuple,
    dict,
    view,      // dict.items(), keys(), values(): can be iterated again, has a length, no subscript
    range,     // range(...)
    iterator,  // what map, select, items, ... return: can be iterated once
    name_space,
    loop,
    macro,
    function,
    method,  // a method bound to its object
    cycler,
    joiner,
};

class Budget;
class Value;
struct FunctionDefinition;
struct MethodDefinition;

struct Object {
    virtual ~Object() = default;
    int depth = 1;  // of nesting, at most kMaxValueDepth
};

class Value {
 public:
    Value() = default;  // undefined without a name
    static Value undefined(std::string why);
    static Value none() { return Value(Kind::none); }
    static Value boolean(bool value);
    static Value integer(Integer value);
    static Value real(double value);
    static Value string(Text text);
    static Value literal(std::string_view bytes) { return string(Text(std::string(bytes), false)); }
    static Value list(std::vector<Value> items) { return sequence(Kind::list, std::move(items)); }
    static Value tuple(std::vector<Value> items) { return sequence(Kind::tuple, std::move(items)); }
    static Value group(Value grouper, std::vector<Value> items);  // groupby's named tuple
    static Value dict(std::vector<std::pair<Value, Value>> entries);
    static Value view(const char* type_name, std::vector<Value> items);
    static Value iterator(const char* type_name, std::vector<Value> items);
    static Value function(const FunctionDefinition* definition);
    static Value method(Value self, const MethodDefinition* definition);
    // For kinds whose object is owned elsewhere (namespaces, macros) or shared.
    static Value object(Kind kind, std::shared_ptr<Object> object);
    // Data from outside: every string, number and container of it is content.
    static Value from_json(const nlohmann::ordered_json& json, int depth = 0);

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool is_number() const { return kind_ == Kind::boolean || kind_ == Kind::integer || kind_ == Kind::real; }
    bool is_integral() const { return kind_ == Kind::boolean || kind_ == Kind::integer; }

    bool as_boolean() const { return integer_ != 0; }
    Integer as_integer() const { return integer_; }  // of an integer or boolean
    double as_double() const;                        // of a number
    const Text& text() const;                        // of a string
    const std::string& bytes() const { return text().bytes(); }
    const std::vector<Value>& items() const;  // of a list, tuple or view
    template <typename T>
    T& as() const {
        return static_cast<T&>(*object_);
    }
    const Object* identity() const { return object_.get(); }
    int depth() const { return object_ == nullptr ? 0 : object_->depth; }

    // Whether the value itself came from data. Of a string, ask its text.
    bool content() const { return content_; }
    Value& mark_content(bool content) {
        content_ = content_ || content;
        return *this;
    }

 private:
    explicit Value(Kind kind) : kind_(kind) {}
    static Value sequence(Kind kind, std::vector<Value> items);

    Integer integer_ = 0;
    double real_ = 0;
    std::shared_ptr<Object> object_;
    Kind kind_ = Kind::undefined;
    bool content_ = false;
};

struct UndefinedObject : Object {
    std::string why;  // the sentence when the value is used: "'x' is undefined"
};

struct StringObject : Object {
    Text text;
};

struct SequenceObject : Object {
    std::vector<Value> items;
    const char* type_name = "list";
    bool group = false;    // has the attributes grouper and list
    bool hashable = true;  // of a tuple: whether all items are
};

struct DictObject : Object {
    std::vector<std::pair<Value, Value>> entries;        // in insertion order
    std::unordered_map<std::string_view, size_t> index;  // of string keys, only when there are many entries

    const Value* find(Budget& budget, const Value& key) const;  // faults when the key is not hashable
    const Value* find(std::string_view key) const;
};

struct RangeObject : Object {
    int64_t start = 0;
    int64_t stop = 0;
    int64_t step = 1;
    size_t size() const;
};

struct IteratorObject : Object {
    std::vector<Value> items;
    size_t next = 0;
    const char* type_name = "generator";
};

struct NamespaceObject : Object {
    std::vector<std::pair<std::string, Value>> attributes;
    Value* find(std::string_view name);
};

struct MethodObject : Object {
    Value self;
    const MethodDefinition* definition = nullptr;
};

struct FunctionObject : Object {
    const FunctionDefinition* definition = nullptr;
};

struct CyclerObject : Object {
    std::vector<Value> items;
    size_t position = 0;
};

struct JoinerObject : Object {
    Value separator;
    bool used = false;
};

// Depth of a new container over `items`; faults past kMaxValueDepth.
int depth_over(const std::vector<Value>& items);
int depth_over(const Value& inner);

const char* type_name(const Value& value);  // Python's name of the type
bool truth(const Value& value);
bool equals(Budget& budget, const Value& left, const Value& right, int depth = 0);
// Python's <, for numbers, strings, lists and tuples; faults on everything else.
bool less(Budget& budget, const Value& left, const Value& right, int depth = 0);
bool hashable(const Value& value);
// Length as len() sees it; nothing where Python raises TypeError.
std::optional<size_t> length_of(const Value& value);
bool iterable(const Value& value);
// The items a for loop sees. Takes them out of an iterator. Faults when the value cannot be iterated.
std::vector<Value> iterate(Budget& budget, const Value& value);

}  // namespace colugo::jinja
