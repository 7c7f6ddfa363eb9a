// Cuts one direction of a PostgreSQL connection into its messages
// (https://www.postgresql.org/docs/current/protocol-message-formats.html).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dogged::faults {

struct Message {
  char type = 0;      ///< 0: the client's first, which has none
  std::string bytes;  ///< the whole message, as it goes over the wire
};

class MessageSplitter {
 public:
  enum class From { client, server };
  explicit MessageSplitter(From from) : is_first_of_client_(from == From::client) {}

  void add(std::string_view bytes) { bytes_.append(bytes); }
  /// The next message that is there as a whole.
  [[nodiscard]] std::optional<Message> next();

 private:
  std::string bytes_;
  bool is_first_of_client_;
};

}  // namespace dogged::faults
