// Names of tasks, queues and schemas, error codes, and the words for statuses and outcomes.
#include <functional>
#include <string>

#include <dogged/detail/names.hpp>
#include <dogged/task.hpp>

#include "db/connection.hpp"
#include "fuzz.hpp"
#include "lifecycle/lifecycle.hpp"

using namespace dogged;

namespace {

const std::string upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const std::string lower = "abcdefghijklmnopqrstuvwxyz";
const std::string all_digits = "0123456789";

/// The rules once more: 1 to `longest` characters, the first and all of them out of these.
bool matches(std::string_view text, std::size_t longest, const std::string& first, const std::string& all) {
  return !text.empty() && text.size() <= longest && first.find(text.front()) != std::string::npos &&
         text.find_first_not_of(all) == std::string_view::npos;
}

bool accepts(const std::function<void()>& make) {
  try {
    make();
    return true;
  } catch (const InvalidInput&) {
    return false;
  } catch (const std::invalid_argument&) {  // TaskError, which is thrown in handlers
    return false;
  }
}

}  // namespace

FUZZ_TARGET(names, input) {
  const std::string letters = upper + lower;
  const bool is_name = matches(input, 128, letters + all_digits, letters + all_digits + "._:/-");
  const bool is_code = matches(input, 64, upper, upper + all_digits + "_");
  const bool is_schema = matches(input, 48, lower + "_", lower + all_digits + "_") && !input.starts_with("pg_");
  const std::string text{input};

  require(detail::is_valid_name(input) == is_name, "a name is valid by its rule");
  require(accepts([&] { (void)Task<int>{text}; }) == is_name, "a task's key takes valid names alone");
  require(detail::is_valid_error_code(input) == is_code, "an error code is valid by its rule");
  require(accepts([&] { (void)TaskError{text, "message"}; }) == is_code, "TaskError takes valid codes alone");
  try {
    db::require_schema_name(input);
    require(is_schema, "a schema is valid by its rule");
  } catch (const InvalidInput& error) {
    require(!is_schema, "a schema is valid by its rule");
    require_sound_message(error);
  }

  if (const auto status = lifecycle::status_from_text(input)) {
    require(lifecycle::to_text(*status) == input, "a status reads as it is written");
  }
  if (const auto outcome = lifecycle::outcome_from_text(input)) {
    require(lifecycle::to_text(*outcome) == input, "an outcome reads as it is written");
  }
}
