// Hints of the database in the words of the command line.
#include "cli/render/command_words.hpp"

#include "support/catch.hpp"

using dogged::cli::in_command_words;

TEST_CASE("a hint names the command in place of the function, whatever the schema is called") {
  CHECK(in_command_words("jobs.create_queue(name) creates one now.", "jobs") ==
        "`dogged queues create NAME` creates one now.");
  CHECK(in_command_words("raise max_depth (jobs.set_queue, dogged queues set).", "jobs") ==
        "raise max_depth (`dogged queues set NAME --max-depth N`).");
  CHECK(in_command_words("Wait, as EnqueueOptions::wait_for_room does.", "jobs") ==
        "Wait, as --wait-for-room 5m does.");
}

TEST_CASE("a hint that names none is left as it is") {
  CHECK(in_command_words("", "dogged").empty());
  CHECK(in_command_words("other.create_queue(name)", "dogged") == "other.create_queue(name)");
}
