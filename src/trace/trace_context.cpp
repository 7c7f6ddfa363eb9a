// See <dogged/trace_context.hpp>.
#include <algorithm>
#include <span>

#include <dogged/trace_context.hpp>

#include "trace/hex.hpp"

namespace dogged {
namespace {

using detail::add_hex;

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t traceparent_length = 55;  // of version 00: 2 - 32 - 16 - 2 digits and three dashes
constexpr std::size_t most_members = 32;        // of a tracestate
constexpr std::size_t most_key_characters = 256;
constexpr std::size_t most_value_characters = 256;

/// Lower-case hexadecimal digits, two for each byte of `into`. False if there are others.
bool read_hex(std::string_view text, std::span<std::uint8_t> into) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    const std::size_t high = digits.find(text[2 * i]);
    const std::size_t low = digits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    into[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

bool is_zero(std::span<const std::uint8_t> id) {
  return std::all_of(id.begin(), id.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
}

bool is_value_character(char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; }

bool is_sound_member(std::string_view member) {
  const std::size_t equals = member.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = member.substr(0, equals);
  const std::string_view value = member.substr(equals + 1);
  return !key.empty() && key.size() <= most_key_characters && std::all_of(key.begin(), key.end(), is_key_character) &&
         !value.empty() && value.size() <= most_value_characters && value.back() != ' ' &&
         std::all_of(value.begin(), value.end(), is_value_character);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The members of `text` without spaces between them and without empty members; empty if one is malformed.
std::string tracestate_from(std::string_view text) {
  std::string state;
  std::size_t members = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view member = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (member.empty()) continue;  // W3C allows it
    if (!is_sound_member(member) || ++members > most_members) return {};
    if (!state.empty()) state += ',';
    state += member;
  }
  return state;
}

/// The first members of `state` that have at most `bytes` together; none if it has other than printable characters.
std::string_view cut_to(std::string_view state, std::size_t bytes) {
  if (!std::all_of(state.begin(), state.end(), [](char c) { return c >= ' ' && c <= '~'; })) return {};
  if (state.size() <= bytes) return state;
  const std::size_t comma = state.substr(0, bytes + 1).rfind(',');
  return comma == std::string_view::npos ? std::string_view{} : state.substr(0, comma);
}

}  // namespace

std::optional<TraceContext> TraceContext::from_text(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::string_view parent = text.substr(0, space);
  if (parent.size() < traceparent_length) return std::nullopt;
  if (parent[2] != '-' || parent[35] != '-' || parent[52] != '-') return std::nullopt;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  TraceContext context;
  const bool is_read = read_hex(parent, version) && read_hex(parent.substr(3), context.trace_id) &&
                       read_hex(parent.substr(36), context.span_id) && read_hex(parent.substr(53), flags);
  if (!is_read || version[0] == 0xff || is_zero(context.trace_id) || is_zero(context.span_id)) return std::nullopt;
  const bool has_more = parent.size() > traceparent_length;
  if (has_more && (version[0] == 0 || parent[traceparent_length] != '-')) return std::nullopt;
  context.sampled = (flags[0] & 1U) != 0;
  if (space != std::string_view::npos) context.tracestate = tracestate_from(text.substr(space + 1));
  return context;
}

std::string TraceContext::to_text() const {
  std::string text = traceparent();
  const std::string_view state = cut_to(tracestate, limits::trace_context_bytes - traceparent_length - 1);
  if (!state.empty()) (text += ' ') += state;
  return text;
}

std::string TraceContext::traceparent() const {
  std::string text;
  text.reserve(traceparent_length);
  text += "00-";
  add_hex(text, trace_id);
  text += '-';
  add_hex(text, span_id);
  text += sampled ? "-01" : "-00";
  return text;
}

std::string TraceContext::trace_id_text() const {
  std::string text;
  add_hex(text, trace_id);
  return text;
}

std::string TraceContext::span_id_text() const {
  std::string text;
  add_hex(text, span_id);
  return text;
}

}  // namespace dogged
