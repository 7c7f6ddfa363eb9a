// See conninfo.hpp.
#include "db/conninfo.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <utility>

#include <libpq-fe.h>

#include "db/errors.hpp"

namespace dogged::db {
namespace {

constexpr const char* how_a_url_looks =
    "a database URL looks like postgresql://user:password@host:5432/database; in a password write % as %25, @ as %40, "
    ": as %3A, / as %2F, ? as %3F and # as %23";

/// By fixed words of libpq's message about a text that it cannot read. The rest of the message quotes the text.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> conninfo_mistakes{{
    {"missing \"=\" after", "it begins with no scheme that PostgreSQL has, nor is it made of words with ="},
    {"unterminated quoted string", "a quote in it is not closed"},
    {"invalid connection option", "it has an option that libpq does not know"},
    {"invalid URI query parameter", "it has an option that libpq does not know"},
    {"key/value separator", "what follows its ? is not made of words with =, and & in between"},
    {"forbidden value %00", "%00 stands in it"},
    {"invalid percent-encoded token", "a % in it is not followed by two hexadecimal digits"},
    {"matching \"]\"", "the [ before its host has no ]"},
    {"IPv6 host address", "there is nothing between the [ and the ] of its host"},
    {"unexpected character", "something else than : or / follows the ] of its host"},
}};

InvalidConninfo refused_url(std::string_view mistake) {
  return InvalidConninfo{"the database URL is wrong: " + std::string{mistake}, how_a_url_looks};
}

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

Options parse_options(const std::string& url) {
  char* complaint = nullptr;
  Options options{PQconninfoParse(url.c_str(), &complaint)};
  if (options) return options;
  const std::string said = complaint != nullptr ? complaint : "";
  PQfreemem(complaint);
  for (const auto& [words, mistake] : conninfo_mistakes) {
    if (said.find(words) != std::string::npos) throw refused_url(mistake);
  }
  throw refused_url("libpq cannot read it");
}

std::string quoted_value(std::string_view value) {
  std::string quoted = "'";
  for (char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string in_lower_case(std::string_view text) {
  std::string result{text};
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// Where a word such as `password=`, `PWD =` or `passwd:` begins; npos if nowhere.
std::size_t find_password_word(std::string_view text) {
  const std::string letters = in_lower_case(text);
  for (std::size_t at = 0; at < letters.size(); ++at) {
    for (std::string_view word : {"password", "passwd", "passphrase", "pass", "pwd"}) {
      if (letters.compare(at, word.size(), word) != 0) continue;
      const std::size_t next = letters.find_first_not_of(" \t\"'", at + word.size());
      if (next != std::string::npos && (letters[next] == '=' || letters[next] == ':')) return at;
    }
  }
  return std::string::npos;
}

/// Where the password of `user:password@host` begins, a URL without its scheme; npos if nowhere.
std::size_t find_bare_credentials(std::string_view text) {
  for (auto at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    const auto before_word = text.find_last_of(" \t\n\"'`", at);
    const auto word = before_word == std::string_view::npos ? 0 : before_word + 1;
    const auto colon = text.substr(word, at - word).find(':');
    if (colon != std::string_view::npos) return word + colon + 1;
  }
  return std::string_view::npos;
}

/// libpq takes the text before the first @ for user and password if no / comes before it. A second @ makes that
/// doubtful.
bool has_doubtful_at(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return false;
  url.remove_prefix(scheme + 3);
  const auto at = url.find_first_of("@/");
  if (at != std::string_view::npos && url[at] == '@') url.remove_prefix(at + 1);
  return url.find('@') != std::string_view::npos;
}

bool is_secret(std::string_view keyword) {
  return keyword.find("password") != std::string_view::npos || keyword.find("secret") != std::string_view::npos;
}

/// Whether a value that messages may quote might hold a password.
bool is_doubtful(std::string_view keyword, std::string_view value) {
  if (keyword == "host" && value.find('@', 1) != std::string_view::npos) return true;
  return value.find("://") != std::string_view::npos || find_password_word(value) != std::string_view::npos;
}

/// The option whose value libpq refuses. Read from `invalid port number: "…"`, `invalid sslmode value: "…"`, `invalid
/// integer value "…" for connection option "connect_timeout"` and the like. Empty for any other message.
std::string refused_option(std::string_view libpq_message) {
  const auto has = [&](const std::string& words) { return libpq_message.find(words) != std::string_view::npos; };
  if (has("invalid port number")) return "its port";
  if (has("definition of service")) return "its service, which no pg_service.conf defines";
  const bool is_of_number = has("invalid integer value \"");
  const Options known{PQconndefaults()};
  for (const PQconninfoOption* option = known.get(); option != nullptr && option->keyword != nullptr; ++option) {
    const std::string keyword = option->keyword;
    const bool is_refused = (is_of_number && has("option \"" + keyword + "\"")) ||
                            has("invalid " + keyword + " value") || has("invalid \"" + keyword + "\" value");
    if (is_refused) return "its " + keyword;
  }
  const bool is_of_another = is_of_number || libpq_message.starts_with("invalid ") || has("\ninvalid ");
  return is_of_another ? "the value of one of its options" : "";
}

}  // namespace

Conninfo parse_conninfo(const Settings& settings) {
  const Options options = parse_options(settings.url);
  Conninfo result;
  result.is_ambiguous = has_doubtful_at(settings.url);
  // First, so that the caller's own options override them. A peer that does not answer is given up after 30 s.
  result.text = "fallback_application_name=" + quoted_value(settings.application_name) +
                " tcp_user_timeout=30000 keepalives_idle=30 keepalives_interval=10 keepalives_count=3";
  bool has_timeout = std::getenv("PGCONNECT_TIMEOUT") != nullptr;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    if (option->val == nullptr || keyword == "client_encoding") continue;
    has_timeout = has_timeout || keyword == "connect_timeout";
    result.is_ambiguous = result.is_ambiguous || (!is_secret(keyword) && is_doubtful(keyword, option->val));
    result.text += " " + std::string{keyword} + "=" + quoted_value(option->val);
  }
  if (!has_timeout) result.text += " connect_timeout='10'";
  // Not a default: no option may override UTF-8.
  result.text += " client_encoding='UTF8'";
  return result;
}

void throw_connect_error(const Conninfo& conninfo, const std::string& libpq_message) {
  if (const std::string option = refused_option(libpq_message); !option.empty()) {
    throw InvalidConninfo("the database URL, or one of libpq's PG* variables, is wrong: libpq does not take " + option,
                          how_a_url_looks);
  }
  if (!conninfo.is_ambiguous) throw connect_error(libpq_message);
  throw ConnectionError(
      "cannot connect to PostgreSQL: the reason is not shown, because a part of a password may stand in it",
      how_a_url_looks, "");
}

std::string without_passwords(std::string text) {
  std::size_t end = std::min(find_password_word(text), find_bare_credentials(text));
  for (auto at = text.find("://"); at < end; at = text.find("://", at + 1)) {
    const std::string before = in_lower_case(std::string_view{text}.substr(0, at));
    if (!before.ends_with("http") && !before.ends_with("https")) end = at + 3;
  }
  // An unknown option may be a misspelt --database-url, and its value a URL of any form.
  const bool names_unknown_options = text.find("not expected") != std::string::npos;
  for (auto at = text.find("--"); at < end; at = text.find("--", at + 2)) {
    const auto behind = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 2);
    if (behind >= end || text[behind] != '=') continue;
    if (names_unknown_options || text.find_first_of("@=", behind + 1) != std::string::npos) end = behind + 1;
  }
  if (end < text.size()) text.replace(end, std::string::npos, "[not shown, as a password may stand in it]");
  return text;
}

}  // namespace dogged::db
