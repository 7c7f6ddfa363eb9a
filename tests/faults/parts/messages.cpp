// See messages.hpp.
#include "messages.hpp"

#include <cstddef>
#include <cstdint>

namespace dogged::faults {
namespace {

/// Lengths are in network order, and count themselves.
std::size_t length_at(const std::string& bytes, std::size_t at) {
  std::uint32_t length = 0;
  for (std::size_t i = at; i < at + 4; ++i) length = (length << 8) | static_cast<unsigned char>(bytes[i]);
  return length;
}

}  // namespace

std::optional<Message> MessageSplitter::next() {
  const std::size_t type_bytes = is_first_of_client_ ? 0 : 1;
  if (bytes_.size() < type_bytes + 4) return std::nullopt;
  const std::size_t size = type_bytes + length_at(bytes_, type_bytes);
  if (bytes_.size() < size) return std::nullopt;
  const char type = is_first_of_client_ ? '\0' : bytes_[0];
  is_first_of_client_ = false;
  Message message{type, bytes_.substr(0, size)};
  bytes_.erase(0, size);
  return message;
}

}  // namespace dogged::faults
