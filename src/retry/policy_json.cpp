// Policies as JSON, for the database and for programs: every field that matters is written, and nothing that
// is not understood is read.
#include <algorithm>
#include <cstdint>
#include <limits>

#include <nlohmann/json.hpp>

#include <dogged/error.hpp>
#include <dogged/policy.hpp>

#include "retry/policy_fields.hpp"
#include "text/message.hpp"

namespace dogged {
namespace {

using nlohmann::json;

constexpr std::string_view policy_key = "policy";

json value_to_json(milliseconds value) { return value.count(); }
json value_to_json(int value) { return value; }
json value_to_json(double value) { return value; }
json value_to_json(const PolicyName& value) { return value.view(); }

json value_to_json(const Intervals& value) {
  json list = json::array();
  for (std::size_t i = 0; i < value.size(); ++i) list.push_back(value[i].count());
  return list;
}

json value_to_json(const Jitter& value) {
  switch (value.kind()) {
    case Jitter::Kind::none:
      break;
    case Jitter::Kind::full:
      return {{"kind", "full"}};
    case Jitter::Kind::absolute:
      return {{"kind", "absolute"}, {"amount_ms", value.amount().count()}};
    case Jitter::Kind::proportional:
      return {{"kind", "proportional"}, {"proportion", value.proportion()}};
  }
  return {{"kind", "none"}};
}

[[noreturn]] void refuse(const std::string& key, const json& value, const std::string& remedy) {
  // dump() is recursive, and a deeply nested value would overflow the stack.
  const std::string written = value.is_structured() ? std::string{"an "} + value.type_name()
                                                    : value.dump(-1, ' ', true, json::error_handler_t::replace);
  throw InvalidPolicy(key, key + " cannot be " + printable(written) + "; " + remedy);
}

std::int64_t whole_number(const std::string& key, const json& value, const std::string& remedy) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= most : value.is_number_integer();
  if (!fits) refuse(key, value, remedy);
  return value.get<std::int64_t>();
}

milliseconds whole_milliseconds(const std::string& key, const json& value) {
  return milliseconds{whole_number(key, value, "write whole milliseconds, up to 86400000 (24h)")};
}

double number(const std::string& key, const json& value, const std::string& remedy) {
  if (!value.is_number()) refuse(key, value, remedy);
  return value.get<double>();
}

void refuse_unknown_keys(const json& object, const Words& known, const std::string& owner) {
  for (auto member = object.begin(); member != object.end(); ++member) {
    if (std::find(known.begin(), known.end(), member.key()) != known.end()) continue;
    throw InvalidPolicy(member.key(), in_quotes(member.key()) + " is not a key of " + owner +
                                          suggestion(member.key(), known) + "; it takes " + alternatives(known));
  }
}

const json& required(const json& object, std::string_view key, std::string_view owner) {
  const auto found = object.find(key);
  if (found == object.end()) throw InvalidPolicy(std::string{key}, std::string{owner}.append(" needs ").append(key));
  return *found;
}

void read_value(const std::string& key, const json& value, milliseconds& result) {
  result = whole_milliseconds(key, value);
}

void read_value(const std::string& key, const json& value, int& result) {
  result = checked_max_retries(whole_number(key, value, "write a whole number, 1 to 20"));
}

void read_value(const std::string& key, const json& value, double& result) {
  result = number(key, value, "write a number, 1 to 100");
}

void read_value(const std::string& key, const json& value, PolicyName& result) {
  if (!value.is_string()) refuse(key, value, "write the name of a policy that the workers have registered");
  result = std::string_view{value.get_ref<const std::string&>()};
}

void read_value(const std::string& key, const json& value, Intervals& result) {
  if (!value.is_array()) refuse(key, value, "write a list of 1 to 20 whole milliseconds");
  for (std::size_t i = 0; i < value.size(); ++i) {
    result.push_back(whole_milliseconds(key + "[" + std::to_string(i) + "]", value[i]));
  }
}

void read_value(const std::string& key, const json& value, Jitter& result) {
  if (!value.is_object()) refuse(key, value, "write an object such as {\"kind\":\"full\"}");
  const json& kind = required(value, "kind", key);
  if (kind == "none") {
    refuse_unknown_keys(value, {"kind"}, "jitter none");
    result = Jitter::none();
  } else if (kind == "full") {
    refuse_unknown_keys(value, {"kind"}, "jitter full");
    result = Jitter::full();
  } else if (kind == "proportional") {
    refuse_unknown_keys(value, {"kind", "proportion"}, "jitter proportional");
    const json& proportion = required(value, "proportion", "jitter proportional");
    result = Jitter::proportional(number("proportion", proportion, "write a number above 0 and up to 1"));
  } else if (kind == "absolute") {
    refuse_unknown_keys(value, {"kind", "amount_ms"}, "jitter absolute");
    result = Jitter::absolute(whole_milliseconds("amount_ms", required(value, "amount_ms", "jitter absolute")));
  } else {
    refuse("kind", kind, "write none, proportional, absolute or full");
  }
}

template <class Policy>
void read_fields(const json& object, Policy& policy) {
  const std::string name{Description<Policy>::name};
  std::vector<std::string> keys{std::string{policy_key}};
  for_each_field<Policy>([&keys](const auto& field) { keys.push_back(field.json_key()); });
  refuse_unknown_keys(object, Words{keys.begin(), keys.end()}, name);
  for_each_field<Policy>([&](const auto& field) {
    const std::string key = field.json_key();
    if (field.presence != Presence::required && !object.contains(key)) return;
    read_value(key, required(object, key, name), policy.*field.member);
  });
}

json parsed(std::string_view text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    throw InvalidPolicy("policy", "the policy is not JSON: at byte " + std::to_string(error.byte) + " of " +
                                      std::to_string(text.size()));
  } catch (const json::out_of_range&) {  // a number; the parser reads it before it is known whose it is
    throw InvalidPolicy("policy", "the policy has a number that is too large; no limit of a policy is above 86400000");
  }
}

}  // namespace

std::string policy_to_json(const RetryPolicy& policy) {
  require_valid(policy);
  json object{{policy_key, name_of(policy)}};
  std::visit(
      [&object]<class Policy>(const Policy& chosen) {
        for_each_field<Policy>([&](const auto& field) {
          if (field.presence == Presence::of_one_form && field.is_default(chosen)) return;
          object[field.json_key()] = value_to_json(chosen.*field.member);
        });
      },
      policy);
  return object.dump();
}

RetryPolicy policy_from_json(std::string_view text) {
  const json object = parsed(text);
  if (!object.is_object()) {
    refuse("policy", object,
           "write an object such as {\"policy\":\"exponential\",\"base_ms\":30000,\"max_retries\":5}");
  }
  const json& name = required(object, policy_key, "a retry policy");
  if (!name.is_string()) refuse("policy", name, "write " + alternatives(policy_names()));
  RetryPolicy policy = unset_policy(name.get_ref<const std::string&>());
  std::visit([&object](auto& chosen) { read_fields(object, chosen); }, policy);
  require_valid(policy);
  return policy;
}

}  // namespace dogged
