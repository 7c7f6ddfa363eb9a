// Which errors of a call a client tries again.
#include "client/passing_error.hpp"

#include <stdexcept>
#include <string>

#include <dogged/error.hpp>

#include "db/errors.hpp"
#include "support/catch.hpp"

using namespace dogged;

TEST_CASE("a client tries a call again after troubles that pass, and not because of a full queue or a mistake") {
  const auto passes = [](std::string_view sqlstate) {
    return is_passing(DatabaseError{"the server refuses", "", std::string{sqlstate}});
  };
  for (const char* sqlstate : {"40001", "40P01", "53300", "55P03", "57014", "57P01"}) CHECK(passes(sqlstate));
  CHECK(is_passing(ConnectionError{"no connection", "", ""}));
  CHECK_FALSE(passes(db::queue_full));
  CHECK_FALSE(passes(db::unique_conflict));
  for (const char* sqlstate : {"42501", "42703", "53400", "P0001"}) CHECK_FALSE(passes(sqlstate));
  CHECK_FALSE(is_passing(InvalidInput{"a bad name"}));
  CHECK_FALSE(is_passing(std::runtime_error{"no error of dogged"}));
}
