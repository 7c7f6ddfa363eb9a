// Args, results and error details: JSON that came from outside, on its way into a handler's types and back into text
// that PostgreSQL's jsonb holds.
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <dogged/detail/registration.hpp>

#include "fuzz.hpp"

using Document = nlohmann::json;
using namespace dogged;

namespace {

struct Address {
  std::string street;
  int number = 0;
  friend bool operator==(const Address&, const Address&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Address, street, number)

struct Order {
  std::string name;
  std::int64_t count = 0;
  bool express = false;
  std::vector<int> items;
  std::map<std::string, Address> addresses;
  friend bool operator==(const Order&, const Order&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, name, count, express, items, addresses)

/// Whether `pointer` leads to a value of the document, or to where a member is missing.
bool leads_into(const Document& document, const std::string& pointer) {
  const Document::json_pointer path{pointer};
  return document.contains(path) || (!path.empty() && document.contains(path.parent_pointer()));
}

/// The same keys and types, and other values.
Document with_other_values(Document document) {
  if (document.is_structured()) {
    for (Document& element : document) element = with_other_values(std::move(element));
    return document;
  }
  if (document.is_string()) return "other";
  if (document.is_number_float()) return 0.25;
  if (document.is_number()) return 4;
  if (document.is_boolean()) return !document.get<bool>();
  return document;
}

/// nlohmann_json converts a floating point number to any integer type by a cast, which has no defined value beyond it.
bool has_number_beyond_int(const Document& document) {
  std::vector<const Document*> left{&document};  // a document may be too deep to recurse
  while (!left.empty()) {
    const Document& next = *left.back();
    left.pop_back();
    if (next.is_number_float() && !(std::abs(next.get<double>()) < 2147483648.0)) return true;
    if (!next.is_structured()) continue;
    for (const Document& element : next) left.push_back(&element);
  }
  return false;
}

std::string complaint_of(const std::string& text) {
  try {
    (void)detail::parse_args<Order>(text);
  } catch (const detail::InvalidArgs& error) {
    return error.what();
  }
  return {};
}

/// A message about args depends on their keys and types alone.
void require_no_value(const std::string& complaint, const Document& document) {
  fuzz::require(complaint.size() < 1000, "what is said of args is short", complaint);
  if (document.is_discarded()) {  // no JSON, or a number beyond what a double can be
    const bool is_known =
        complaint == complaint_of("1e999") || complaint.find("parse error at line ") != complaint.npos;
    fuzz::require(is_known, "no value stands in what is said of args", complaint);
  } else if (!detail::find_unstorable(document)) {  // the value is not too deep to copy either
    fuzz::require(complaint_of(with_other_values(document).dump()) == complaint,
                  "no value stands in what is said of args", complaint);
  }
}

void require_args_are_read_or_described(const std::string& text) {
  try {
    const auto order = detail::parse_args<Order>(text);
    const Document document(order);
    if (detail::find_unstorable(document)) return;
    const std::string written = detail::to_json_text({"the args"}, order);
    fuzz::require(detail::parse_args<Order>(written) == order, "args that are written read back", written);
  } catch (const detail::InvalidArgs& error) {
    const Document document = Document::parse(text, nullptr, /*allow_exceptions=*/false);
    require_no_value(error.what(), document);
    if (document.is_discarded()) return;
    fuzz::require(leads_into(document, error.pointer()), "the pointer leads to what does not fit", error.pointer());
  }
}

void require_storable(const std::string& text) {
  fuzz::require(fuzz::is_utf8(text), "JSON text is UTF-8", text);
  const auto found = detail::find_unstorable(Document::parse(text));
  fuzz::require(!found.has_value(), "jsonb holds what is written", text);
}

void require_document_is_kept_or_refused(const Document& document) {
  const auto unstorable = detail::find_unstorable(document);
  if (unstorable) {
    fuzz::require(leads_into(document, unstorable->pointer), "the pointer leads to what cannot be stored",
                  unstorable->pointer);
  }
  try {
    const std::string written = detail::to_json_text({"the result"}, document);
    fuzz::require(!unstorable, "what cannot be stored is refused", written);
    require_storable(written);
    fuzz::require(Document::parse(written) == document, "a result that is written reads back", written);
  } catch (const std::invalid_argument& error) {
    fuzz::require(unstorable.has_value(), "only what cannot be stored is refused", error.what());
  }
}

void require_details_are_kept(const Document& details) {
  const std::string written = detail::details_to_json_text(details);
  require_storable(written);
  fuzz::require(written.size() <= detail::max_details_bytes, "details are at most 64 KiB");
}

}  // namespace

FUZZ_TARGET(args_json, input) {
  const std::string text{input};
  if (!has_number_beyond_int(Document::parse(text, nullptr, /*allow_exceptions=*/false))) {
    require_args_are_read_or_described(text);
  }
  for (const int id : {101, 302, 316, 401, 403, 406, 501}) {
    const std::string reason = detail::describe_json_error(id, input).reason;
    require(id == 101 || reason.size() < 400, "a reason is short, whatever an exception says", reason);
  }
  require_details_are_kept(Document(text));
  const Document document = Document::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return;
  require_document_is_kept_or_refused(document);
  require_details_are_kept(document);
}
