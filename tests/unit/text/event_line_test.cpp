// Lines of the log for programs: whatever a value contains, the line stays one line and gives the value back.
#include "text/event_line.hpp"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/property.hpp"

using namespace dogged;

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("an event is its name and its fields, and only values that could be misread are in quotes") {
  CHECK(event_line("retry").with("task", 7).with("error", "HTTP_503").text() == "event=retry task=7 error=HTTP_503");
  CHECK(event_line("e").with("a", "").with("b", "x y").with("c", "a=b").text() == R"(event=e a="" b="x y" c="a=b")");
  CHECK(event_line("e").with("a", R"(say "no")").text() == R"(event=e a="say \"no\"")");
  CHECK(event_line("e").with("path", R"(C:\)").text() == R"(event=e path="C:\\")");
}

TEST_CASE("a message forges no line and no field, and a long one is cut between two characters") {
  CHECK(event_line("e").with_message("no\nevent=forged \x1b[31m").text() ==
        R"(event=e message="no\nevent=forged \u001b[31m")");
  CHECK(event_line("e").with_message("").text() == "event=e");
  const std::string euros = event_line("e").with_message(std::string(499, 'a') + "€€").text();
  CHECK(euros == "event=e message=" + std::string(499, 'a') + "…");
}

TEST_CASE("the fields of a line are read back as they were given") {
  CHECK(fields_of(event_line("e").with("a", "1 \"2\"\n\\").with("b", "").text()) ==
        Fields{{"event", "e"}, {"a", "1 \"2\"\n\\"}, {"b", ""}});
  CHECK(test::holds([] {
    std::string ascii;
    for (const unsigned char byte : test::any_bytes()) {
      const char c = static_cast<char>(byte % 0x60 + 0x20);
      ascii += c == 0x7F ? '\n' : c;
    }
    const std::string text = event_line("e").with("value", ascii).with("last", 1).text();
    RC_ASSERT(text.find('\n') == std::string::npos);
    RC_ASSERT(fields_of(text) == (Fields{{"event", "e"}, {"value", ascii}, {"last", "1"}}));
  }));
}

TEST_CASE("a text of another form has no fields") {
  for (const char* text : {"", "worker 1 ready", "a=b event=c", "event=e and more", "event=e a=\"open",
                           "event=e a=\"b\"c", "event=e  a=b", "Event=e"}) {
    CAPTURE(text);
    CHECK(fields_of(text).empty());
  }
}
