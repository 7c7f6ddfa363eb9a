// Values on their way to JSON text that PostgreSQL can store.
#include <dogged/detail/json_text.hpp>

#include "support/catch.hpp"

using Document = nlohmann::json;
using namespace dogged::detail;

TEST_CASE("a document that is too deep is refused without a stack") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_THROWS_WITH(to_json_text("the result", Document::parse(deep)),
                    Catch::Matchers::EndsWith("is nested more than 500 levels deep"));
}

TEST_CASE("error details stay within 64 KiB where it is a key that is long") {
  const Document details{{std::string(70'000, 'k'), std::string(1, '\0')}};
  const std::string text = details_to_json_text(details);
  CHECK(text.size() <= max_details_bytes);
  CHECK(text.find("contains a NUL character") != std::string::npos);
}
