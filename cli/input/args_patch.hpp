// A JSON Patch (RFC 6902) for the args of tasks.
#pragma once

#include <string>
#include <string_view>

namespace dogged::cli {

class ArgsPatch {
 public:
  /// Throws InvalidInput, which names the operation, unless `text` is a JSON Patch.
  explicit ArgsPatch(std::string_view text);

  /// The patched document. Throws InvalidInput, which says why it does not apply; also where the document holds a
  /// number that would lose digits.
  [[nodiscard]] std::string apply(std::string_view document) const;

 private:
  std::string patch_;  ///< as text: JSON_DIAGNOSTICS changes the layout of a json between files
};

}  // namespace dogged::cli
