// See hint.hpp.
#include "cli/hint.hpp"

#include <optional>
#include <string_view>

#include "cli/render/command_words.hpp"
#include "db/connection.hpp"
#include "migrate/missing_role.hpp"

namespace dogged::cli {
namespace {

/// `cancel` of `permission denied for function cancel (SQLSTATE 42501)`; empty for a message of another form.
std::string denied_object(std::string_view message) {
  for (const std::string_view words : {"permission denied for table ", "permission denied for view ",
                                       "permission denied for function ", "permission denied for sequence "}) {
    const auto found = message.find(words);
    if (found == std::string_view::npos) continue;
    const std::string_view rest = message.substr(found + words.size());
    return std::string{rest.substr(0, rest.find_first_of(" (\n"))};
  }
  return {};
}

std::optional<std::string> missing_role(const Invocation& invocation, const std::string& object) {
  try {
    db::Connection connection = invocation.connect_to_any_schema();
    return migrate::hint_for_missing_role(connection, object);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string hint_for(const Invocation& invocation, const Error& error) {
  if (migrate::is_missing_right(error)) {
    std::string object = denied_object(error.message());
    if (!object.empty() && !invocation.needed_right.empty()) object = invocation.needed_right;
    if (const auto hint = object.empty() ? std::nullopt : missing_role(invocation, object)) return *hint;
  }
  return in_command_words(error.hint(), invocation.schema);
}

}  // namespace dogged::cli
