// See lineage.hpp.
#include "cli/render/lineage.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "cli/render/text.hpp"

namespace dogged::cli {
namespace {

constexpr std::size_t lineage_indent = 2;
constexpr std::size_t lineage_key = 11;

class FamilyTree {
 public:
  FamilyTree(const TaskHistory& history, const Style& style)
      : history_(history), style_(style), width_(std::max(style.width, narrowest_picture)) {
    for (const Relative& one : history.lineage.descendants) children_of_[one.parent_id.value_or(0)].push_back(&one);
  }

  std::string render() {
    add_ancestors();
    const std::int64_t children = history_.lineage.children;
    if (children > 0) {
      add("children", std::to_string(children), "");
      add_children(history_.task.id, children, "");
    }
    return std::move(text_);
  }

 private:
  void add(std::string_view key, const std::string& text, std::string_view status) {
    const std::size_t room = width_ - lineage_indent - lineage_key;
    const std::string shown =
        shorten(harmless(text, style_.unicode), room - std::min(room, status.size() + column_gap), style_.unicode);
    text_ += std::string(lineage_indent, ' ') + style_.paint(Color::dim, pad_right(key, lineage_key)) + shown;
    if (!status.empty()) text_ += std::string(column_gap, ' ') + style_.paint(Color::dim, status);
    text_ += "\n";
  }

  static std::string name_of(const Relative& one) { return std::to_string(one.id) + " " + one.name.value_or(""); }
  static std::string_view status_text(const Relative& one) {
    return one.status ? lifecycle::to_text(*one.status) : std::string_view{};
  }

  void add_ancestors() {
    const auto& ancestors = history_.lineage.ancestors;
    std::string_view key = "parent";
    for (const Relative& one : ancestors) {
      const std::string child = &one == &ancestors.front() ? "" : "of ";
      if (one.name) {
        add(key, child + name_of(one), status_text(one));
      } else {
        add(key, child + std::to_string(one.id) + ", which is not kept any more", "");
      }
      key = "";
    }
  }

  void add_children(std::int64_t id, std::int64_t count, const std::string& before) {
    const std::vector<const Relative*>& listed = children_of_[id];
    const std::int64_t left_out = count - std::ssize(listed);
    for (const Relative* child : listed) {
      const bool is_last = child == listed.back() && left_out <= 0;
      add("", before + branch(is_last) + name_of(*child), status_text(*child));
      if (child->children > 0) {
        add_children(child->id, child->children, before + std::string{is_last ? "   " : style_.pick("│  ", "|  ")});
      }
    }
    if (left_out > 0) {
      add("",
          before + branch(true) + std::to_string(left_out) + " more: dogged tasks list --parent " + std::to_string(id),
          "");
    }
  }

  [[nodiscard]] std::string branch(bool is_last) const {
    return std::string{is_last ? style_.pick("└─ ", "`- ") : style_.pick("├─ ", "|- ")};
  }

  const TaskHistory& history_;
  const Style& style_;
  const std::size_t width_;
  std::map<std::int64_t, std::vector<const Relative*>> children_of_;
  std::string text_;
};

}  // namespace

std::string render_lineage(const TaskHistory& history, const Style& style) {
  return FamilyTree{history, style}.render();
}

}  // namespace dogged::cli
