// An error of the command line itself, with the exit code that it means.
#pragma once

#include <string>

#include <dogged/error.hpp>

#include "client/exit_codes.hpp"

namespace dogged::cli {

class Failure : public Error {
 public:
  Failure(ExitCode exit_code, const std::string& message, std::string hint = {})
      : Error(message, std::move(hint)), exit_code_(exit_code) {}

  [[nodiscard]] ExitCode exit_code() const noexcept { return exit_code_; }

 private:
  ExitCode exit_code_;
};

}  // namespace dogged::cli
