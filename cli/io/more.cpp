// See more.hpp.
#include "cli/io/more.hpp"

#include <iostream>

#include "cli/invocation.hpp"
#include "cli/render/json_object.hpp"

namespace dogged::cli {

void say_there_may_be_more(const Invocation& invocation, const std::string& message, const std::string& after) {
  std::cout.flush();
  if (invocation.format == Format::table) {
    std::cerr << message << "\n";
    return;
  }
  JsonObject note;
  note.add("message", message);
  if (!after.empty()) note.add_json("after", after);
  std::cerr << JsonObject{}.add_json("note", note.text()).text() << "\n";
}

}  // namespace dogged::cli
