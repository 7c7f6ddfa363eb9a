// A strict reader of Prometheus's text format 0.0.4, written from its description and not from our writer:
// https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <charconv>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace support {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct Family {
  std::string help;
  std::string type;
  std::vector<Sample> samples;
};

using Exposition = std::map<std::string, Family>;

/// Throws std::runtime_error with the line that breaks the format. Each family needs HELP, then TYPE, then its samples,
/// which all must be different; timestamps are refused.
class ExpositionReader {
 public:
  static Exposition read(std::string_view text) {
    ExpositionReader reader;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) throw std::runtime_error("the last line does not end with a line feed");
      reader.line_ = reader.rest_ = text.substr(0, end);
      reader.read_line();
      text.remove_prefix(end + 1);
    }
    return std::move(reader.families_);
  }

 private:
  void require(bool holds, const std::string& promise) const {
    if (!holds) throw std::runtime_error(promise + ": " + std::string{line_});
  }
  bool skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string name(std::string_view more = "") {
    const auto is_first = [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || more.find(c) != std::string_view::npos;
    };
    std::size_t size = 0;
    while (size < rest_.size() && (is_first(rest_[size]) || (size > 0 && rest_[size] >= '0' && rest_[size] <= '9'))) {
      ++size;
    }
    require(size > 0, "a name is expected");
    std::string found{rest_.substr(0, size)};
    rest_.remove_prefix(size);
    return found;
  }
  char escaped() {
    require(!rest_.empty(), "an escape is cut off");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    require(c == '\\' || c == '"' || c == 'n', "an unknown escape");
    return c == 'n' ? '\n' : c;
  }
  std::string label_value() {
    require(skip("\""), "a label's value begins with a quote");
    std::string value;
    while (!skip("\"")) {
      require(!rest_.empty(), "a label's value ends with a quote");
      if (skip("\\")) {
        value += escaped();
      } else {
        value += rest_.front();
        rest_.remove_prefix(1);
      }
    }
    return value;
  }

  void read_line() {
    if (skip("# HELP ")) return read_help();
    if (skip("# TYPE ")) return read_type();
    read_sample();
  }
  void read_help() {
    current_ = name(":");
    require(skip(" "), "HELP has a text");
    require(families_.emplace(current_, Family{std::string{rest_}, {}, {}}).second, "a family is there once");
  }
  void read_type() {
    require(name(":") == current_, "TYPE follows its HELP");
    require(families_[current_].type.empty() && skip(" "), "a family has one TYPE");
    require(std::set<std::string_view>{"counter", "gauge", "histogram"}.contains(rest_), "an unknown type");
    families_[current_].type = rest_;
  }
  void read_sample() {
    Sample sample{name(":"), {}, 0};
    require(!current_.empty() && sample.name.starts_with(current_), "a sample follows its family");
    Family& family = families_[current_];
    const std::string suffix = sample.name.substr(current_.size());
    const std::set<std::string> suffixes =
        family.type == "histogram" ? std::set<std::string>{"_bucket", "_sum", "_count"} : std::set<std::string>{""};
    require(suffixes.contains(suffix), "a sample's name fits its type");
    if (skip("{")) {
      do {
        const std::string label = name();
        require(skip("="), "a label has a value");
        require(sample.labels.emplace(label, label_value()).second, "a label is there once");
      } while (skip(","));
      require(skip("}"), "labels end with a brace");
    }
    require(skip(" "), "a value follows a space");
    const char* const end = rest_.data() + rest_.size();
    const auto [parsed, error] = std::from_chars(rest_.data(), end, sample.value);
    require(error == std::errc{} && parsed == end, "a value is a number");
    require(seen_.emplace(sample.name, sample.labels).second, "a series is there once");
    family.samples.push_back(std::move(sample));
  }

  Exposition families_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen_;
  std::string current_;
  std::string_view line_;
  std::string_view rest_;
};

}  // namespace support
