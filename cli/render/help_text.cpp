// See help_text.hpp.
#include "cli/render/help_text.hpp"

#include <algorithm>

#include "cli/render/style.hpp"
#include "cli/render/text.hpp"

namespace dogged::cli {
namespace {

/// In less room than this a text goes to lines of its own: its words would stand below each other.
constexpr std::size_t least_beside = 30;
constexpr std::size_t indent_below = 6;

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

std::string indented(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines;
  for (const std::string& line : wrapped(text, width > indent ? width - indent : 1, true)) {
    lines += std::string(indent, ' ') + line + "\n";
  }
  return lines;
}

/// An indented line with its continuations: `  0    done`, or a command with a remark.
struct Item {
  std::string left;
  std::string right;
  std::size_t column = 0;  ///< of `right`; 0: there is none
};

Item item_of(std::string_view line) {
  const auto gap = line.find(std::string(column_gap, ' '), indent_of(line));
  const auto right = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  if (right == std::string_view::npos) return {std::string{line}, "", 0};
  return {std::string{line.substr(0, gap)}, std::string{line.substr(right)}, display_width(line.substr(0, right))};
}

std::string item_text(const Item& item, std::size_t width) {
  if (item.column == 0) return item.left + "\n";
  if (item.column + std::min(least_beside, display_width(item.right)) <= width) {
    return beside(item.left, item.right, item.column, width);
  }
  const std::size_t nearest = display_width(item.left) + column_gap;
  if (nearest + display_width(item.right) <= width) return beside(item.left, item.right, nearest, width);
  return item.left + "\n" + indented(item.right, indent_below, width);
}

/// Takes the lines one after the other.
class Filler {
 public:
  explicit Filler(std::size_t width) : width_(width) {}

  void add(std::string_view line) {
    if (line.empty()) {
      end_block();
      text_ += "\n";
    } else if (line.front() != ' ') {
      end_item();
      (sentences_ += sentences_.empty() ? "" : " ") += line;
      if (line.ends_with('.') || line.ends_with(':')) end_sentences();
    } else if (item_.column != 0 && indent_of(line) == item_.column) {
      item_.right += " " + std::string{line.substr(item_.column)};
    } else {
      end_block();
      item_ = item_of(line);
    }
  }
  std::string end() {
    end_block();
    return text_;
  }

 private:
  void end_block() {
    end_sentences();
    end_item();
  }
  void end_sentences() {
    if (!sentences_.empty()) text_ += indented(sentences_, 0, width_);
    sentences_.clear();
  }
  void end_item() {
    if (!item_.left.empty()) text_ += item_text(item_, width_);
    item_ = {};
  }

  std::size_t width_;
  std::string text_, sentences_;
  Item item_;
};

}  // namespace

std::string beside(std::string_view left, std::string_view right, std::size_t column, std::size_t width) {
  const std::string lines = right.empty() ? "" : indented(right, column, width);
  if (!lines.empty() && display_width(left) + column_gap <= column)
    return pad_right(left, column) + lines.substr(column);
  std::string text;
  std::size_t indent = indent_of(left);
  for (const std::string& line : wrapped(left.substr(indent), width - std::min(indent_below, width - 1), true)) {
    text += std::string(indent, ' ') + line + "\n";
    indent = indent_below;
  }
  return text + lines;
}

std::string fitted(std::string_view text, std::size_t width) {
  Filler filler{width};
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    filler.add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return filler.end();
}

}  // namespace dogged::cli
