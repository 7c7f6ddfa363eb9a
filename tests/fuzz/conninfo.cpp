// Database URLs with a password in them, well written or not. The first three lines of the input are the text before
// the password, the middle of the password, and the text after the password.
#include "db/conninfo.hpp"

#include <algorithm>

#include "fuzz.hpp"

using namespace dogged;

namespace {

constexpr std::string_view begin_of_password = "Tr0ub-";
constexpr std::string_view end_of_password = "-4d0r";

void require_silence(std::string_view text) {
  for (const std::string_view part : {begin_of_password, end_of_password}) {
    fuzz::require(text.find(part) == std::string_view::npos, "no message shows a password", text);
  }
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Whether the password stands where passwords of URLs do, or behind the option's name.
bool is_in_its_place(std::string_view before, std::string_view password, std::string_view after) {
  const auto scheme = before.find("://");
  if (scheme != std::string_view::npos) {
    const std::string_view user = before.substr(scheme + 3);
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return user.size() > 1 && user.back() == ':' && std::all_of(user.begin(), user.end() - 1, is_letter) &&
           after.starts_with('@');
  }
  const bool is_one_word = std::none_of(password.begin(), password.end(), is_blank);
  return before.ends_with("password=") && is_one_word;
}

}  // namespace

FUZZ_TARGET(conninfo, input) {
  Lines lines{input};
  const std::string before = lines.text();
  const std::string middle = lines.text();
  const std::string after = lines.text();
  if ((before + middle + after).find('\0') != std::string::npos) return;  // libpq's texts end there
  for (const std::string_view part : {begin_of_password, end_of_password}) {
    if ((before + "\n" + after).find(part) != std::string::npos) return;  // it stands outside of the password as well
  }
  const std::string password = std::string{begin_of_password} + middle + std::string{end_of_password};
  const std::string url = before + password + after;
  try {
    const db::Conninfo conninfo = db::parse_conninfo({.url = url});
    if (!is_in_its_place(before, password, after)) return;
    // libpq's messages about a connection quote values such as the host.
    const auto quoted = [&](const std::string& keyword) {
      const std::string beginning = " " + keyword + "='";
      const auto at = conninfo.text.find(beginning);
      if (at == std::string::npos) return std::string{};
      const auto begin = at + beginning.size();
      return conninfo.text.substr(begin, conninfo.text.find("' ", begin) - begin);
    };
    for (const char* keyword : {"host", "hostaddr", "port", "user", "dbname", "options", "service"}) {
      try {
        db::throw_connect_error(conninfo, keyword == std::string_view{"port"}
                                              ? "invalid port number: \"" + quoted(keyword) + "\"\n"
                                              : "could not use \"" + quoted(keyword) + "\"\n");
      } catch (const Error& error) {
        require_silence(error.what());
      }
    }
  } catch (const db::InvalidConninfo& error) {
    require_silence(error.what());
    require_sound_message(error);
  }
}
