// See listen_address.hpp.
#include "http/listen_address.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

#include <dogged/error.hpp>

#include "text/message.hpp"

namespace dogged::http {
namespace {

constexpr int most_ports = 65'535;

[[noreturn]] void refuse_address(const std::string& name, const std::string& text, const std::string& why) {
  throw InvalidInput(name + " is " + in_quotes(text) + ": " + why,
                     "write an address and a port: 127.0.0.1:9464, [::1]:9464, or :9464 for every address");
}

}  // namespace

ListenAddress listen_address_from_text(const std::string& name, const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) refuse_address(name, text, "it has no port");
  ListenAddress address{.host = text.substr(0, colon), .port = 0};
  const std::string_view port = std::string_view{text}.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  const bool is_number = error == std::errc{} && end == port.data() + port.size();
  if (!is_number || address.port < 0 || address.port > most_ports) {
    refuse_address(name, text, "its port is not 0 to 65535");
  }
  if (address.host.empty()) {
    address.host = "0.0.0.0";
  } else if (address.host.front() == '[' && address.host.back() == ']' && address.host.size() > 2) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find_first_of(":[]") != std::string::npos) {
    refuse_address(name, text, "an IPv6 address stands in [ ]");
  }
  return address;
}

std::string to_text(const ListenAddress& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace dogged::http
