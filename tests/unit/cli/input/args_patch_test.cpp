// The JSON Patch of `dogged dead replay --edit-args`.
#include "cli/input/args_patch.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include <dogged/error.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

using dogged::InvalidInput;
using dogged::cli::ArgsPatch;
using dogged::test::contains;
using nlohmann::json;

namespace {

std::string patched(const std::string& patch, const std::string& document) { return ArgsPatch{patch}.apply(document); }

InvalidInput error_of_patch(const std::string& patch) {
  try {
    const ArgsPatch accepted{patch};
  } catch (const InvalidInput& error) {
    return error;
  }
  FAIL("accepted: " << patch);
  return InvalidInput{""};
}

std::string why_it_does_not_apply(const std::string& patch, const std::string& document) {
  const ArgsPatch sound{patch};
  try {
    const std::string applied = sound.apply(document);
    FAIL("applied: " << applied);
  } catch (const InvalidInput& error) {
    return error.message();
  }
  return {};
}

std::string nested(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

}  // namespace

TEST_CASE("each operation of RFC 6902 does what its appendix A shows") {
  CHECK(patched(R"([{"op": "add", "path": "/baz", "value": "qux"}])", R"({"foo": "bar"})") ==
        R"({"baz":"qux","foo":"bar"})");
  CHECK(patched(R"([{"op": "add", "path": "/foo/1", "value": "qux"}])", R"({"foo": ["bar", "baz"]})") ==
        R"({"foo":["bar","qux","baz"]})");
  CHECK(patched(R"([{"op": "add", "path": "/foo/-", "value": ["abc"]}])", R"({"foo": ["bar"]})") ==
        R"({"foo":["bar",["abc"]]})");
  CHECK(patched(R"([{"op": "remove", "path": "/baz"}])", R"({"baz": "qux", "foo": "bar"})") == R"({"foo":"bar"})");
  CHECK(patched(R"([{"op": "replace", "path": "/baz", "value": "boo"}])", R"({"baz": "qux"})") == R"({"baz":"boo"})");
  CHECK(patched(R"([{"op": "move", "from": "/foo/1", "path": "/foo/3"}])",
                R"({"foo": ["all","grass","cows","eat"]})") == R"({"foo":["all","cows","eat","grass"]})");
  CHECK(patched(R"([{"op": "copy", "from": "/a", "path": "/b"}])", R"({"a": {"x": 1}})") ==
        R"({"a":{"x":1},"b":{"x":1}})");
  CHECK(patched(R"([{"op": "test", "path": "/~01", "value": 10}])", R"({"~1": 10})") == R"({"~1":10})");
}

TEST_CASE("operations are applied in their order, each to what the one before has left") {
  CHECK(patched(R"([{"op": "add", "path": "/n", "value": {}}, {"op": "add", "path": "/n/m", "value": 1}])", "{}") ==
        R"({"n":{"m":1}})");
}

TEST_CASE("whole numbers and short fractions keep their digits, and longer ones are refused") {
  const std::string patch = R"([{"op": "add", "path": "/x", "value": 1}])";
  CHECK(patched(patch, R"({"id": 9223372036854775807, "price": 19.99})") ==
        R"({"id":9223372036854775807,"price":19.99,"x":1})");
  CHECK(contains(why_it_does_not_apply(patch, R"({"n": 0.12345678901234567})"), "would lose digits"));
  CHECK(contains(error_of_patch(R"([{"op": "add", "path": "/x", "value": 123456789012345678901234567890}])").message(),
                 "would lose digits"));
}

TEST_CASE("a patch that does not apply says why") {
  CHECK(contains(why_it_does_not_apply(R"([{"op": "remove", "path": "/nothing"}])", "{}"), "nothing"));
  CHECK(
      contains(why_it_does_not_apply(R"([{"op": "test", "path": "/a", "value": 2}])", R"({"a": 1})"), "unsuccessful"));
  CHECK(contains(why_it_does_not_apply(R"([{"op": "add", "path": "/a/b", "value": 1}])", R"({"a": 3})"),
                 "nothing can be at /a/b: /a is neither an object nor an array"));
  CHECK(contains(why_it_does_not_apply(R"([{"op": "remove", "path": "/a/b"}])", R"({"a": "text"})"), "neither"));
}

TEST_CASE("a text that is no patch is refused, and the mistake is named") {
  CHECK(contains(error_of_patch("[]").message(), "--edit-args is [], which has no operation"));
  CHECK(contains(error_of_patch("[]").hint(), "leave --edit-args out"));
  CHECK(contains(error_of_patch(R"({"op": "add"})").message(),
                 R"(not an array of operations, but object: {"op": "add"})"));
  CHECK(contains(error_of_patch("3").message(), "but number: 3"));
  CHECK(contains(error_of_patch("[{").message(), "--edit-args is not JSON"));
  CHECK(contains(error_of_patch("[1]").message(), "operation 1: it is not an object"));
  const std::string sound = R"({"op": "remove", "path": "/a"})";
  CHECK(contains(error_of_patch("[" + sound + R"(, {"op": "replce"}])").message(),
                 R"(operation 2: op is "replce" (did you mean "replace"?))"));
  CHECK(contains(error_of_patch(R"([{"op": "remove", "path": "a"}])").message(), "path is no JSON pointer"));
  CHECK(contains(error_of_patch(R"([{"op": "move", "path": "/a"}])").message(), "from is no JSON pointer"));
  CHECK(contains(error_of_patch(R"([{"op": "add", "path": "/a"}])").message(), "it has no value"));
}

TEST_CASE("documents that are nested without end are refused, and not followed", "[one_thread]") {
  const std::string patch = R"([{"op": "add", "path": "", "value": 1}])";
  CHECK(patched(patch, nested(1000)) == "1");
  CHECK(contains(why_it_does_not_apply(patch, nested(1001)), "nested deeper than 1000 levels"));
  CHECK(contains(error_of_patch(nested(1'000'000)).message(), "nested deeper than 1000 levels"));
}
