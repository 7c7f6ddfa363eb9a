// An SVG drawing as text: boxes, lines and words. The colours are those of a light page, or of a dark page if the
// reader's system asks for it. The drawing brings its own background, so that it can be read on any page.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

namespace svg {

/// In tenths of a pixel, which is all that can be seen: `12`, `12.5`.
inline std::string number(double value) {
  const long tenths = std::lround(value * 10);
  const std::string sign = tenths < 0 ? "-" : "";
  const std::string whole = sign + std::to_string(std::abs(tenths) / 10);
  return tenths % 10 == 0 ? whole : whole + "." + std::to_string(std::abs(tenths) % 10);
}

struct Box {
  double x, y, width, height;
};

// Colours twice instead of in variables, which not every viewer of SVG knows.
inline constexpr std::string_view style = R"(<style>
rect{shape-rendering:crispEdges}text{font:12px system-ui,sans-serif;fill:#59636e}.title{font-weight:600;fill:#1f2328}
.middle{text-anchor:middle}.end{text-anchor:end}
.page{fill:#fff}.good{fill:#0969da}.bad{fill:#cf222e}.off{fill:#bf8700}
.band{fill:#0969da;opacity:.35}.shade{fill:#d8dee4;opacity:.6}.grid{stroke:#d8dee4}
@media(prefers-color-scheme:dark){
text{fill:#9198a1}.title{fill:#e6edf3}
.page{fill:#0d1117}.good{fill:#58a6ff}.bad{fill:#ff7b72}.off{fill:#d29922}
.band{fill:#58a6ff}.shade{fill:#30363d}.grid{stroke:#30363d}
}
</style>
)";

/// `classes` are the names in `style`. Words are not escaped: they are the program's own, without & and <.
class Drawing {
 public:
  Drawing(double width, double height, std::string_view description) {
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " + number(height) +
           "\" width=\"" + number(width) + "\" height=\"" + number(height) + "\" role=\"img\">\n<title>";
    out_.append(description).append("</title>\n").append(style);
    box({0, 0, width, height}, "page");
  }

  void box(const Box& box, std::string_view classes) {
    out_ += "<rect x=\"" + number(box.x) + "\" y=\"" + number(box.y) + "\" width=\"" + number(box.width) +
            "\" height=\"" + number(box.height) + "\"" + class_of(classes) + "/>\n";
  }
  void line(double x1, double y1, double x2, double y2, std::string_view classes) {
    out_ += "<path d=\"M" + number(x1) + " " + number(y1) + "L" + number(x2) + " " + number(y2) + "\"" +
            class_of(classes) + "/>\n";
  }
  void circle(double x, double y, double radius, std::string_view classes) {
    out_ += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"" + number(radius) + "\"" +
            class_of(classes) + "/>\n";
  }
  /// At the base line; classes `middle` and `end` say which part of the words stands at x.
  void words(double x, double y, std::string_view words, std::string_view classes = {}) {
    out_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + class_of(classes) + ">";
    out_.append(words).append("</text>\n");
  }

  [[nodiscard]] std::string text() const { return out_ + "</svg>\n"; }

 private:
  static std::string class_of(std::string_view classes) {
    return classes.empty() ? "" : " class=\"" + std::string{classes} + "\"";
  }

  std::string out_;
};

/// Where values stand in a box: x from `left` to `right`, y from 0 at the bottom to `top`.
struct Axes {
  Box box;
  double left, right, top;

  [[nodiscard]] double x(double value) const { return box.x + (value - left) / (right - left) * box.width; }
  [[nodiscard]] double y(double value) const { return box.y + box.height - value / top * box.height; }
};

}  // namespace svg
