// See unique_options.hpp.
#include "cli/options/unique_options.hpp"

#include <dogged/client.hpp>
#include <dogged/unique.hpp>

#include "cli/input/choices.hpp"
#include "cli/input/new_tasks.hpp"

namespace dogged::cli {
namespace {

/// More than the list takes are counted: the client refuses them. No pointer is one of the words, for each begins with
/// a slash or is empty.
JsonPointers pointers_from(const std::vector<std::string>& texts) {
  if (texts == std::vector<std::string>{"all"}) return Unique::all_args;
  if (texts == std::vector<std::string>{"none"}) return Unique::no_args;
  JsonPointers pointers;
  for (const std::string& text : texts) pointers.push_back(text);
  return pointers;
}

}  // namespace

void UniqueOptions::apply_to(NewTask& task) const {
  if (key.empty() && while_.empty() && on_conflict.empty() && period.empty() && latest.empty() && by.empty()) return;
  Unique unique;
  if (!by.empty()) unique.by = pointers_from(by);
  if (!while_.empty()) unique.while_ = unique_while_from_text(while_);
  if (!on_conflict.empty()) unique.on_conflict = on_conflict_from_text(on_conflict);
  if (!period.empty()) unique.period = duration_of(period);
  if (!latest.empty()) unique.latest = duration_of(latest);
  task.options.unique = unique;
  task.options.unique_key = key;
}

std::vector<CLI::Option*> add_unique_options(CLI::App& command, UniqueOptions& options) {
  CLI::Option* key = command
                         .add_option("--unique-key", options.key,
                                     "Enqueue nothing if a task of that name holds this key, up to 512 bytes")
                         ->type_name("KEY")
                         ->check(is_not_empty());
  CLI::Option* by =
      command
          .add_option("--unique-by", options.by,
                      "The same with a key made of the args at these JSON pointers, as /user/id; all: of all args; "
                      "none: of the name alone")
          ->type_name("POINTER")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->excludes(key);
  CLI::Option* while_ = command
                            .add_option("--unique-while", options.while_,
                                        "How long a task holds its key: pending, live (pending or running), or kept; "
                                        "live unless said")
                            ->type_name("STATE")
                            ->check(is_one_of(unique_whiles, "a state of --unique-while"));
  CLI::Option* on_conflict =
      command
          .add_option("--on-conflict", options.on_conflict,
                      "What happens to a pending task that holds the key: keep, refuse, replace_args, merge_args, "
                      "reschedule, debounce or debounce_merge; keep unless said")
          ->type_name("WORD")
          ->check(is_one_of(on_conflicts, "a word of --on-conflict"));
  CLI::Option* period = command
                            .add_option("--unique-period", options.period,
                                        "The key is free this long after the task was enqueued, whatever its state")
                            ->type_name("DURATION")
                            ->check(is_duration());
  CLI::Option* latest =
      command
          .add_option("--latest", options.latest,
                      "reschedule, debounce and debounce_merge move the run no further than this after the task was "
                      "enqueued; refused with another --on-conflict")
          ->type_name("DURATION")
          ->check(is_duration());
  return {key, by, while_, on_conflict, period, latest};
}

}  // namespace dogged::cli
