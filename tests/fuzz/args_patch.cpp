// The JSON Patch of `dogged dead replay --edit-args`, which changes the args of tasks. The first line of the input is
// the patch, the second a document, the third another document. The result is compared with nlohmann_json's patch, and
// with its diff of the two documents.
#include "cli/input/args_patch.hpp"

#include <optional>

#include <nlohmann/json.hpp>

#include "fuzz.hpp"

using nlohmann::json;
using namespace dogged;

namespace {

json read(const std::string& text) { return json::parse(text, nullptr, /*allow_exceptions=*/false); }

/// Empty where the patch is none, or does not apply.
std::optional<json> patched(const std::string& patch, const std::string& document) {
  try {
    return json::parse(cli::ArgsPatch{patch}.apply(document));
  } catch (const InvalidInput& error) {
    fuzz::require_sound_message(error);
    return std::nullopt;
  }
}

bool would_lose_digits(const std::string& text) {
  try {
    (void)cli::ArgsPatch{R"([{"op": "test", "path": "", "value": 0}])"}.apply(text);
  } catch (const InvalidInput& error) {
    return error.message().find("would lose digits") != std::string::npos ||
           error.message().find("nested deeper") != std::string::npos;
  }
  return false;
}

void require_as_the_library_does(const std::string& patch, const std::string& document) {
  const std::optional<json> result = patched(patch, document);
  if (!result) return;
  const json operations = read(patch);
  fuzz::require(operations.is_array() && !operations.empty(), "what is applied is an array of operations", patch);
  fuzz::require(read(document).patch(operations) == *result, "all operations give what the library's patch gives",
                result->dump());
}

void require_difference_applies(const std::string& from, const std::string& to) {
  const json source = read(from);
  const json target = read(to);
  if (source.is_discarded() || target.is_discarded() || would_lose_digits(from) || would_lose_digits(to)) return;
  const json difference = json::diff(source, target);
  if (difference.empty()) return;
  if (would_lose_digits(difference.dump())) return;  // written again, a number may have more
  const std::optional<json> result = patched(difference.dump(), from);
  fuzz::require(result && *result == target, "the difference of two documents makes one the other", difference.dump());
}

}  // namespace

FUZZ_TARGET(args_patch, input) {
  Lines lines{input};
  const std::string patch = lines.text();
  const std::string document = lines.text();
  const std::string other = lines.text();
  require_as_the_library_does(patch, document);
  require_difference_applies(document, other);
}
