// How --help and `dogged help` look: lines that the terminal does not break.
#pragma once

#include <cstddef>
#include <string>

#include <CLI/CLI.hpp>

namespace dogged::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  /// `width`: of the terminal. Very wide lines are not filled, and very narrow ones do not fit.
  explicit HelpFormatter(std::size_t width);

  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  std::size_t width_;
  std::size_t column_;  ///< of what options and subcommands mean
};

}  // namespace dogged::cli
