// Values on their way to JSON text that PostgreSQL can store.
#include <dogged/detail/json_text.hpp>

#include "support/catch.hpp"

using Document = nlohmann::json;
using namespace dogged::detail;

TEST_CASE("a document that is too deep is refused without a stack", "[one_thread]") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_THROWS_WITH(to_json_text({"the result"}, Document::parse(deep)),
                    Catch::Matchers::EndsWith("is nested more than 500 levels deep"));
}

TEST_CASE("error details stay within 64 KiB where it is a key that is long") {
  const Document details{{std::string(70'000, 'k'), std::string(1, '\0')}};
  const std::string text = details_to_json_text(details);
  CHECK(text.size() <= max_details_bytes);
  CHECK(text.find("contains a NUL character") != std::string::npos);
}

TEST_CASE("JSON text is measured as PostgreSQL writes it out again, with its exponents as digits") {
  CHECK(bytes_as_jsonb("1e+308") >= 309);
  CHECK(bytes_as_jsonb("[1e-300,2.5E300]") >= 600);
  CHECK(bytes_as_jsonb(R"({"a":"1e308","b\\":"\"1e308"})") == std::string{R"({"a":"1e308","b\\":"\"1e308"})"}.size());
  CHECK(bytes_as_jsonb("[true,false,null,12.5]") == 22);
}

TEST_CASE("error details stay within 64 KiB where it is their numbers that are long") {
  const std::string text = details_to_json_text(Document(std::vector<double>(10'000, 1e308)));
  CHECK(text.find("the limit is 65536") != std::string::npos);
}

TEST_CASE("a value that cannot become JSON is refused without a byte of it") {
  CHECK_THROWS_WITH(to_json_text({"the result"}, std::string{"pin 4711\xff"}),
                    "the result cannot become JSON: a text in it is not valid UTF-8");
}
