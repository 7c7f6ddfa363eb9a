// See help_formatter.hpp.
#include "cli/commands/help_formatter.hpp"

#include <algorithm>
#include <utility>

#include "cli/render/help_text.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t narrowest_help = 40;
constexpr std::size_t widest_help = 120;
constexpr std::size_t widest_name = 34;

}  // namespace

HelpFormatter::HelpFormatter(std::size_t width)
    : width_(std::clamp(width, narrowest_help, widest_help)), column_(std::min(width_ / 3, widest_name)) {}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return fitted(CLI::Formatter::make_description(app), width_);
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  return fitted(CLI::Formatter::make_usage(app, std::move(name)), width_);
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return beside("  " + make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option),
                column_, width_);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return beside("  " + command->get_display_name(true), command->get_description(), column_, width_);
}

std::string HelpFormatter::make_footer(const CLI::App* app) const { return fitted(app->get_footer(), width_); }

}  // namespace dogged::cli
