// See psql_arguments.hpp.
#include "cli/input/psql_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

#include <getopt.h>

#include <dogged/error.hpp>

namespace dogged::cli {
namespace {

bool is_plain_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/';
  });
}

}  // namespace

void require_plain_names(std::vector<std::string> arguments) {
  std::string name = "psql";
  std::vector<char*> argv{name.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  // Only options with a value matter. getopt passes over others, which psql checks.
  static const option options[] = {{"command", 1, nullptr, 'c'},  {"dbname", 1, nullptr, 'd'},
                                   {"file", 1, nullptr, 'f'},     {"field-separator", 1, nullptr, 'F'},
                                   {"host", 1, nullptr, 'h'},     {"log-file", 1, nullptr, 'L'},
                                   {"output", 1, nullptr, 'o'},   {"port", 1, nullptr, 'p'},
                                   {"pset", 1, nullptr, 'P'},     {"record-separator", 1, nullptr, 'R'},
                                   {"set", 1, nullptr, 'v'},      {"table-attr", 1, nullptr, 'T'},
                                   {"username", 1, nullptr, 'U'}, {"variable", 1, nullptr, 'v'},
                                   {"help", 2, nullptr, 1},       {nullptr, 0, nullptr, 0}};
  std::vector<std::string_view> names;
  opterr = 0;
  optind = 0;  // from the beginning
  for (int found = 0; found != -1;) {
    found = getopt_long(static_cast<int>(argv.size()) - 1, argv.data(), "c:d:f:F:h:L:o:p:P:R:T:U:v:", options, nullptr);
    if (found == '?' && optopt == 0)
      names.emplace_back(argv[static_cast<std::size_t>(optind - 1)]);  // psql quotes an unknown option
    if (optarg == nullptr || found == 'v') continue;
    const std::string_view value = optarg;
    const bool names_server = std::strchr("dhpU", found) != nullptr;
    // SQL may have a URL in it, but does not begin with one.
    const std::string_view looked_at = found == 'c' ? value.substr(0, value.find(' ')) : value;
    const bool has_url = looked_at.find("://") != std::string_view::npos;
    if (names_server || has_url) names.push_back(value);
  }
  names.insert(names.end(), argv.begin() + optind, argv.end() - 1);
  if (std::all_of(names.begin(), names.end(), is_plain_name)) return;
  throw InvalidInput("`dogged dev psql` opens the server of this directory, and takes no URL or connection string",
                     "for another server: psql URL");
}

}  // namespace dogged::cli
