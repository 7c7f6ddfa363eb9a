// The arguments that `dogged dev psql` refuses, and those that it leaves to psql.
#include "cli/input/psql_arguments.hpp"

#include <string>
#include <vector>

#include <dogged/error.hpp>

#include "support/catch.hpp"
#include "support/wrong_urls.hpp"

using dogged::InvalidInput;
using dogged::cli::require_plain_names;

namespace {

using PsqlArguments = std::vector<std::string>;

void check_refused(const PsqlArguments& arguments) {
  CAPTURE(arguments);
  try {
    require_plain_names(arguments);
    FAIL_CHECK("they are not refused");
  } catch (const InvalidInput& refusal) {
    CHECK_FALSE(dogged::test::shows_password(refusal.message() + refusal.hint()));
  }
}

}  // namespace

TEST_CASE("a URL in any place where psql would quote it is refused, and the refusal does not quote it") {
  int count = 0;
  for (const std::string& url : dogged::test::wrong_urls()) {
    if (url.find_first_of(":=@?") == std::string::npos) continue;
    check_refused({url});
    check_refused({"-X", "-v", "a=b", "postgres", url});
    check_refused({"-Atd", url, "-c", "select 1"});
    check_refused({"--dbname=" + url});
    check_refused({"--host", url});
    check_refused({"-p", url});
    check_refused({"-X", "postgres", "--database-url=" + url});
    if (url.find("://") == std::string::npos) continue;
    check_refused({"-f", url});
    check_refused({"-Atc", url});
    ++count;
  }
  CHECK(count > 10);
}

TEST_CASE("names, options and SQL with a URL in it are left to psql") {
  const std::vector<PsqlArguments> all{
      {},
      {"-XAt", "-v", "a=b", "-d", "postgres", "--command", "select 'postgresql://u:p@h/'"},
      {"-v", "url=postgresql://u:p@h/"},
      {"--help=commands"},
      {"-XAtc", "select 1", "postgres", "dogged"},
      {"-f", "/tmp/a:b.sql"}};
  for (const PsqlArguments& arguments : all) {
    CAPTURE(arguments);
    CHECK_NOTHROW(require_plain_names(arguments));
  }
}
