// A JSON Patch (RFC 6902) for the args of tasks.
#include "cli/input/args_patch.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <dogged/error.hpp>

#include "cli/input/new_tasks.hpp"
#include "text/message.hpp"

namespace dogged::cli {
namespace {

using nlohmann::json;

/// nlohmann's messages begin with `[json.exception.out_of_range.403] `.
std::string reason_of(const json::exception& error) {
  const std::string what = error.what();
  const auto end = what.find("] ");
  return printable(end == std::string::npos ? what : what.substr(end + 2));
}

// The functions that copy and write a document recurse once for each of its levels.
constexpr int deepest = 1000;

/// Builds the document, unless it holds a number that a double does not hold exactly, or is nested without end.
class Builder : public nlohmann::detail::json_sax_dom_parser<json> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<json>;
  explicit Builder(json& document) : Base(document, true) {}

  bool number_float(json::number_float_t value, const json::string_t& text) {
    constexpr std::ptrdiff_t digits_of_a_double = 15;
    std::string digits = text.substr(0, text.find_first_of("eE"));
    digits.erase(0, digits.find_first_of("123456789"));
    if (std::count_if(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) > digits_of_a_double) {
      throw InvalidInput("the number " + printable(text) + " would lose digits");
    }
    return Base::number_float(value, text);
  }

  bool start_object(std::size_t size) { return go_deeper(), Base::start_object(size); }
  bool start_array(std::size_t size) { return go_deeper(), Base::start_array(size); }
  bool end_object() { return --depth_, Base::end_object(); }
  bool end_array() { return --depth_, Base::end_array(); }

 private:
  void go_deeper() {
    if (++depth_ > deepest) throw InvalidInput("it is nested deeper than " + std::to_string(deepest) + " levels");
  }

  int depth_ = 0;
};

json parsed(std::string_view text) {
  json document;
  Builder builder{document};
  json::sax_parse(text, &builder);
  return document;
}

std::string mistake_of(const json& operation) {
  static const Words names{"add", "remove", "replace", "move", "copy", "test"};
  if (!operation.is_object()) return "it is not an object";
  const auto text = [&](const char* key) {
    return operation.contains(key) && operation[key].is_string() ? operation[key].get<std::string>() : std::string{"?"};
  };
  const std::string name = text("op");
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return "op is " + in_quotes(name) + suggestion(name, names) + "; write " + alternatives(names);
  }
  const bool has_source = name == "move" || name == "copy";
  for (const char* key : {"path", "from"}) {
    if (std::string_view{key} == "from" && !has_source) continue;
    try {
      static_cast<void>(json::json_pointer{text(key)});
    } catch (const json::exception& error) {
      return std::string{key} + " is no JSON pointer, such as /customer/id: " + reason_of(error);
    }
  }
  const bool has_value = name == "add" || name == "replace" || name == "test";
  return has_value && !operation.contains("value") ? "it has no value" : "";
}

/// nlohmann's patch() silently ignores an operation inside of a value that is neither an object nor an array.
void require_container(const json& document, const json& operation, const char* key) {
  const json::json_pointer pointer{operation.at(key).get<std::string>()};
  if (pointer.empty() || document.at(pointer.parent_pointer()).is_structured()) return;
  throw InvalidInput("nothing can be at " + printable(pointer.to_string()) + ": " +
                     printable(pointer.parent_pointer().to_string()) + " is neither an object nor an array");
}

void apply_operation(json& document, const json& operation) {
  const auto& name = operation.at("op").get_ref<const std::string&>();
  if (name != "test") require_container(document, operation, "path");
  if (name == "move") require_container(document, operation, "from");
  document = document.patch(json::array({operation}));
}

}  // namespace

ArgsPatch::ArgsPatch(std::string_view text) {
  require_json("--edit-args", text);
  json patch;
  const std::string hint =
      R"(a JSON Patch is as '[{"op": "replace", "path": "/url", "value": "https://…"}]' (RFC 6902))";
  try {
    patch = parsed(text);
  } catch (const json::exception& error) {
    throw InvalidInput("--edit-args: " + reason_of(error), hint);
  } catch (const InvalidInput& error) {
    throw InvalidInput("--edit-args: " + error.message(), hint);
  }
  if (!patch.is_array()) {
    throw InvalidInput(
        std::string{"--edit-args is not an array of operations, but "} + patch.type_name() + ": " + printable(text),
        hint);
  }
  if (patch.empty()) {
    throw InvalidInput("--edit-args is [], which has no operation; a patch has at least one",
                       "leave --edit-args out to run them with their args as they are; " + hint);
  }
  for (std::size_t i = 0; i < patch.size(); ++i) {
    if (const std::string mistake = mistake_of(patch[i]); !mistake.empty()) {
      throw InvalidInput("--edit-args: operation " + std::to_string(i + 1) + ": " + mistake, hint);
    }
  }
  patch_ = text;
}

std::string ArgsPatch::apply(std::string_view document) const {
  try {
    json patched = parsed(document);
    const json operations = parsed(patch_);
    for (const json& operation : operations) apply_operation(patched, operation);
    return patched.dump();
  } catch (const json::exception& error) {
    throw InvalidInput(reason_of(error));
  }
}

}  // namespace dogged::cli
