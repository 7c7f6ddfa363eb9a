// Retry settings as JSON: one config, and a file of them by task.
#include <cstddef>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include <dogged/detail/names.hpp>
#include <dogged/resolved_retry_config.hpp>

#include "policy_checks.hpp"

using namespace dogged;

namespace {

/// The parser takes every text that was written.
RetryConfig read_back(const std::string& written) {
  try {
    return RetryConfig::from_json(written);
  } catch (const InvalidPolicy& error) {
    fuzz::require(false, error.what(), written);
    throw;
  }
}

void require_reads_back(const RetryConfig& config) {
  const std::string written = config.to_json();
  const RetryConfig read = read_back(written);
  fuzz::require(read.to_json() == written, "a config's JSON reads back", written);
  fuzz::require(read.policy() == config.policy(), "a config that is read back makes the same policy", written);
  fuzz::require(read.breaker() == config.breaker(), "a config that is read back has the same breaker", written);
  fuzz::require(read.auto_retry_for == config.auto_retry_for, "a config that is read back lists the same codes",
                written);
}

void require_sound_codes(const RetryConfig& config) {
  if (!config.auto_retry_for) return;
  for (const std::string& code : *config.auto_retry_for) {
    const bool is_alone = code == codes::any && config.auto_retry_for->size() == 1;
    fuzz::require(is_alone || detail::is_valid_error_code(code), "a list has codes, or * alone", code);
  }
}

void require_sound_config(const RetryConfig& config) {
  require_sound_codes(config);
  require_valid(config);
  fuzz::require_sound(config.policy());
  if (const auto breaker = config.breaker()) require_valid(*breaker);
  require_reads_back(config);
}

void require_sound_origins(const ResolvedRetryConfig& resolved) {
  std::istringstream lines{resolved.to_text()};
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    fuzz::require(fuzz::is_printable_line(line), "what applies is printable", line);
  }
  fuzz::require(count == resolved.fields.size(), "each field is one line");
}

void require_sound_task(const RetryConfigFile& file, const std::string& task) {
  try {
    const auto resolved = resolve_retry_config({.operation = task, .file = &file, .environment = {}});
    require_sound_config(resolved.config);
    require_sound_origins(resolved);
  } catch (const InvalidPolicy& error) {  // what only all layers together show
    fuzz::require_sound_message(error);
  }
}

void check_config(std::string_view input) {
  try {
    const RetryConfig config = RetryConfig::from_json(input);
    fuzz::require(nlohmann::json::accept(input), "only JSON is taken", input);
    require_sound_config(config);
  } catch (const InvalidPolicy& error) {
    fuzz::require_sound_message(error);
  }
}

void check_file(std::string_view input) {
  try {
    const RetryConfigFile file = RetryConfigFile::from_json(input, "retry.json");
    require_sound_task(file, "a task that is not in the file");
    for (const auto& [task, settings] : file.tasks) require_sound_task(file, task);
  } catch (const InvalidPolicy& error) {
    fuzz::require_sound_message(error);
  }
}

}  // namespace

FUZZ_TARGET(retry_config, input) {
  check_config(input);
  check_file(input);
}
