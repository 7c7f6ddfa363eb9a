// An error of the command line itself, with the exit code that it means.
#pragma once

#include <string>

#include <dogged/error.hpp>

#include "client/exit_codes.hpp"

namespace dogged::cli {

/// For an id that no task has.
inline constexpr const char* no_such_task_hint =
    "finished tasks are kept for a limited time, and ids skip numbers; `dogged tasks list` shows what is there";

class Failure : public Error {
 public:
  Failure(ExitCode exit_code, const std::string& message, std::string hint = {})
      : Error(message, std::move(hint)), exit_code_(exit_code) {}

  [[nodiscard]] ExitCode exit_code() const noexcept { return exit_code_; }

 private:
  ExitCode exit_code_;
};

}  // namespace dogged::cli
