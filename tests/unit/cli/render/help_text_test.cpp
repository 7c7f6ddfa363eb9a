// Help that fits the terminal.
#include "cli/render/help_text.hpp"

#include "support/catch.hpp"

using namespace dogged::cli;

TEST_CASE("the meaning of an option goes on below itself") {
  CHECK(beside("  --queue QUEUE", "Of this queue; several with commas", 20, 40) ==
        "  --queue QUEUE     Of this queue;\n"
        "                    several with commas\n");
}

TEST_CASE("a long option stands in a line of its own, and an option without a meaning as well") {
  CHECK(beside("  --schema NAME=dogged", "Of the queue", 20, 40) ==
        "  --schema NAME=dogged\n"
        "                    Of the queue\n");
  CHECK(beside("  -h", "", 20, 40) == "  -h\n");
  CHECK(beside("  --at TIME Excludes: --in", "When", 8, 20) ==
        "  --at TIME\n"
        "      Excludes: --in\n"
        "        When\n");
}

TEST_CASE("sentences are filled anew, and their ends and empty lines stay") {
  CHECK(fitted("One is long, and its author broke\nit. It ends here.\nThe next.\n\nA last one", 60) ==
        "One is long, and its author broke it. It ends here.\nThe next.\n\nA last one\n");
  CHECK(fitted("It is broken where the line ends", 20) == "It is broken where\nthe line ends\n");
  CHECK(fitted("", 20).empty());
}

TEST_CASE("a line with two columns goes on below its second") {
  CHECK(fitted("Codes:\n  0   done\n  1   what was asked for is not there,\n      or was done in part\n", 36) ==
        "Codes:\n"
        "  0   done\n"
        "  1   what was asked for is not\n"
        "      there, or was done in part\n");
}

TEST_CASE("a command stays whole, and a remark without room goes elsewhere") {
  const std::string command = "  dogged tasks list --status failed --queue mail";
  CHECK(fitted(command, 20) == command + "\n");
  CHECK(fitted("  dogged tasks list             for this shell", 40) == "  dogged tasks list  for this shell\n");
  CHECK(fitted("  dogged tasks list --all       for this shell", 36) ==
        "  dogged tasks list --all\n"
        "      for this shell\n");
}
