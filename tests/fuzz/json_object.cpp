// JSON that the command line prints, of any text. Each line of the input is a value.
#include "cli/render/json_object.hpp"

#include <nlohmann/json.hpp>

#include "fuzz.hpp"

using nlohmann::json;
using namespace dogged::cli;

FUZZ_TARGET(json_object, input) {
  JsonObject object;
  std::vector<std::string> texts;
  std::vector<std::string> elements;
  for (Lines lines{input}; !lines.at_end();) {
    texts.push_back(lines.text());
    elements.push_back(json_string(texts.back()));
    object.add(std::to_string(texts.size()), texts.back());
  }
  const std::string printed = object.add_json("all", json_array(elements)).add_null("none").text();
  require(is_printable_line(printed), "what is printed moves no cursor", printed);
  const json members = json::parse(printed);
  require(members.size() == texts.size() + 2, "each member is there");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string read = members.at(std::to_string(i + 1));
    require(members.at("all").at(i) == read, "an element and a member are written alike", read);
    require(!is_utf8(texts[i]) || read == texts[i], "a text reads back as it was", read);
  }
}
