// See command_words.hpp.
#include "cli/render/command_words.hpp"

namespace dogged::cli {
namespace {

void replace(std::string& text, std::string_view words, std::string_view by) {
  const auto found = text.find(words);
  if (found != std::string::npos) text.replace(found, words.size(), by);
}

}  // namespace

// The words of schema/enqueue.sql and schema/queues.sql; tests/cli/queues_test compares them.
std::string in_command_words(std::string hint, std::string_view schema) {
  const std::string function_of = std::string{schema} + ".";
  replace(hint, function_of + "create_queue(name)", "`dogged queues create NAME`");
  replace(hint, function_of + "move_queue(from_queue, to_queue, most => 10000) until nothing is left",
          "`dogged tasks move --queue OLD --to NEW`");
  replace(hint, function_of + "move_queue(from_queue, to_queue)", "`dogged tasks move --queue OLD --to NEW`");
  replace(hint, function_of + "delete_queue(name)", "`dogged queues delete NAME`");
  replace(hint, function_of + "pause_queue(name)", "`dogged queues pause NAME`");
  replace(hint, function_of + "cancel(id)", "`dogged tasks cancel ID`");
  replace(hint, function_of + "purge(id)", "`dogged dead purge ID`");
  replace(hint, function_of + "set_queue, dogged queues set", "`dogged queues set NAME --max-depth N`");
  replace(hint, "EnqueueOptions::wait_for_room", "--wait-for-room 5m");
  return hint;
}

}  // namespace dogged::cli
