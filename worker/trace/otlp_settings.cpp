// See otlp_settings.hpp.
#include "trace/otlp_settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "text/message.hpp"
#include "text/number_text.hpp"

namespace dogged::runtime {
namespace {

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string in_lower_case(std::string_view text) {
  std::string lower{text};
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 3 > text.size()) return std::nullopt;
    unsigned byte = 0;
    const char* const begin = text.data() + i + 1;
    if (const auto [end, error] = std::from_chars(begin, begin + 2, byte, 16);
        error != std::errc{} || end != begin + 2) {
      return std::nullopt;
    }
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

struct PairsRead {
  OtlpSettings::Pairs pairs;
  std::optional<std::string> wrong;  ///< the first that is no pair; then none counts
};

/// `key=value,other=value`, with values that are percent-encoded.
PairsRead pairs_from(std::string_view text) {
  PairsRead read;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view pair = without_blanks(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return {{}, std::string{pair}};
    const auto key = percent_decoded(without_blanks(pair.substr(0, equals)));
    auto value = percent_decoded(without_blanks(pair.substr(equals + 1)));
    if (!key || key->empty() || !value) return {{}, std::string{pair}};
    read.pairs.emplace_back(*key, *std::move(value));
  }
  return read;
}

bool is_of_header_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}
bool breaks_header(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

bool is_sound_header(const std::pair<std::string, std::string>& header) {
  return std::all_of(header.first.begin(), header.first.end(), is_of_header_name) &&
         std::none_of(header.second.begin(), header.second.end(), breaks_header);
}

bool is_sound_url(std::string_view url) {
  const std::string lower = in_lower_case(url.substr(0, 8));
  const std::size_t scheme = lower.starts_with("http://") ? 7 : lower.starts_with("https://") ? 8 : 0;
  return scheme > 0 && url.size() > scheme && url[scheme] != '/' && url[scheme] != '?' &&
         std::none_of(url.begin(), url.end(), [](char c) {
           return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '#';  // no server sees a fragment
         });
}

std::size_t begin_of_host(std::string_view url) {
  const std::size_t scheme = url.find("://");
  return scheme == std::string_view::npos ? 0 : scheme + 3;
}
std::size_t end_of_host(std::string_view url) {
  return std::min(url.find_first_of("/?#", begin_of_host(url)), url.size());
}

/// Without the user and password that may stand in front of the host.
std::string shown(const std::string& url) {
  const std::size_t host = begin_of_host(url);
  const std::size_t at = url.rfind('@', end_of_host(url));
  std::string without = at == std::string::npos || at < host ? url : url.substr(0, host) + url.substr(at + 1);
  return without.substr(0, without.find_first_of("?#"));  // queries may carry keys
}

/// A password with /, ? or # in it makes a malformed URL, and shown() does not find its end.
bool may_hide_password(std::string_view malformed) {
  return malformed.find('@', end_of_host(malformed)) != std::string_view::npos;
}

std::string with_path_of_traces(const std::string& url) {
  const std::size_t query = std::min(url.find('?'), url.size());
  std::string with_path = url.substr(0, query);
  with_path += with_path.ends_with('/') ? "v1/traces" : "/v1/traces";
  return with_path + url.substr(query);
}

/// Reads the variables one by one, and collects what is wrong with them.
class OtlpReader {
 public:
  OtlpReader(const Environment& environment, std::vector<std::string>& warnings)
      : environment_(environment), warnings_(warnings) {}

  /// The first of `names` that is set; an empty variable counts as not set.
  struct Variable {
    std::string name;
    std::string value;
  };
  [[nodiscard]] std::optional<Variable> first_of(std::initializer_list<const char*> names) const {
    if (!environment_) return std::nullopt;
    for (const char* name : names) {
      auto value = environment_(name);
      if (value && !without_blanks(*value).empty()) return Variable{name, std::string{without_blanks(*value)}};
    }
    return std::nullopt;
  }

  void warn(const Variable& variable, const std::string& rule) {
    warnings_.push_back(variable.name + " is " + in_quotes(variable.value) + "; " + rule);
  }
  /// Does not quote the value.
  void warn_of_secret(const Variable& variable, const std::string& rule) {
    warnings_.push_back(variable.name + " cannot be read, and does not count: " + rule);
  }

  template <class Number>
  void take_number(std::initializer_list<const char*> names, Number least, Number most, Number& into) {
    const auto variable = first_of(names);
    if (!variable) return;
    Number number{};
    const std::string& text = variable->value;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size() && number >= least && number <= most) {
      into = number;
    } else {
      warn(*variable, "it must be " + std::to_string(least) + " to " + std::to_string(most) + "; " +
                          std::to_string(into) + " counts");
    }
  }

 private:
  const Environment& environment_;
  std::vector<std::string>& warnings_;
};

/// Nothing: no spans are exported.
std::optional<std::string> endpoint_from(OtlpReader& reader) {
  const auto own = reader.first_of({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"});
  const auto given = own ? own : reader.first_of({"OTEL_EXPORTER_OTLP_ENDPOINT"});
  if (!given) return std::nullopt;
  if (!is_sound_url(given->value)) {
    const std::string rule = "it must be a URL such as http://localhost:4318, without #; no spans are exported";
    if (may_hide_password(given->value)) {
      reader.warn_of_secret(*given, rule);
    } else {
      reader.warn({given->name, shown(given->value)}, rule);
    }
    return std::nullopt;
  }
  return own ? own->value : with_path_of_traces(given->value);
}

/// Whether the worker exports spans by OTLP at all, if there is an endpoint.
bool is_wanted(OtlpReader& reader) {
  const auto disabled = reader.first_of({"OTEL_SDK_DISABLED"});
  if (disabled && in_lower_case(disabled->value) == "true") return false;
  if (const auto exporter = reader.first_of({"OTEL_TRACES_EXPORTER"}); exporter && exporter->value != "otlp") {
    if (exporter->value != "none") reader.warn(*exporter, "a worker has otlp and none; no spans are exported");
    return false;
  }
  const auto protocol = reader.first_of({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"});
  if (!protocol || protocol->value == "http/json") return true;
  if (protocol->value == "http/protobuf") {
    reader.warn(*protocol, "a worker sends http/json, which collectors take at the same address");
    return true;
  }
  reader.warn(*protocol,
              "a worker sends http/json alone, mostly to port 4318; no spans are exported. Set "
              "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  return false;
}

void take_headers(OtlpReader& reader, OtlpSettings& settings) {
  const auto variable = reader.first_of({"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"});
  if (!variable) return;
  auto [headers, wrong] = pairs_from(variable->value);
  if (!wrong && std::all_of(headers.begin(), headers.end(), is_sound_header)) {
    settings.headers = std::move(headers);
  } else {
    reader.warn_of_secret(*variable, "it must be like api-key=secret,tenant=a, with values that are percent-encoded");
  }
}

/// OTEL_SERVICE_NAME counts over service.name.
void take_resource(OtlpReader& reader, OtlpSettings& settings) {
  if (const auto variable = reader.first_of({"OTEL_RESOURCE_ATTRIBUTES"})) {
    auto [attributes, wrong] = pairs_from(variable->value);
    if (wrong) {
      reader.warn({"a part of " + variable->name, *wrong},
                  "no attribute counts; write key=value with percent-encoded values, such as "
                  "deployment.environment.name=prod,service.namespace=shop");
    } else {
      settings.resource = std::move(attributes);
    }
  }
  const auto has_key = [](const char* key) { return [key](const auto& pair) { return pair.first == key; }; };
  if (const auto name = reader.first_of({"OTEL_SERVICE_NAME"})) {
    std::erase_if(settings.resource, has_key("service.name"));
    settings.resource.emplace_back("service.name", name->value);
  } else if (std::none_of(settings.resource.begin(), settings.resource.end(), has_key("service.name"))) {
    settings.resource.emplace_back("service.name", "unknown_service");
  }
  settings.resource.emplace_back("telemetry.sdk.name", "dogged");
  settings.resource.emplace_back("telemetry.sdk.language", "cpp");
  settings.resource.emplace_back("telemetry.sdk.version", DOGGED_VERSION);
}

double ratio_from(OtlpReader& reader) {
  const auto argument = reader.first_of({"OTEL_TRACES_SAMPLER_ARG"});
  if (!argument) return 1;
  const auto ratio = number_from_text(argument->value);
  if (ratio && *ratio >= 0 && *ratio <= 1) return *ratio;
  reader.warn(*argument, "it must be 0 to 1; 1 counts");
  return 1;
}

Sampler sampler_from(OtlpReader& reader) {
  constexpr std::string_view parent_based = "parentbased_";
  const auto variable = reader.first_of({"OTEL_TRACES_SAMPLER"});
  if (!variable) return {};
  std::string_view name = variable->value;
  Sampler sampler{.follows_producer = name.starts_with(parent_based)};
  if (sampler.follows_producer) name.remove_prefix(parent_based.size());
  if (name == "always_on") return sampler;
  if (name == "always_off") {
    sampler.ratio = 0;
  } else if (name == "traceidratio") {
    sampler.ratio = ratio_from(reader);
  } else {
    reader.warn(*variable,
                "a worker has always_on, always_off and traceidratio, alone and with parentbased_ before them; "
                "parentbased_always_on counts");
    return {};
  }
  return sampler;
}

}  // namespace

OtlpSettingsRead read_otlp_settings(const Environment& environment) {
  OtlpSettingsRead read;
  OtlpReader reader{environment, read.warnings};
  if (!reader.first_of({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"})) return read;
  if (!is_wanted(reader)) return read;
  const auto url = endpoint_from(reader);
  if (!url) return read;
  OtlpSettings settings{.url = *url, .shown_url = shown(*url)};
  take_headers(reader, settings);
  take_resource(reader, settings);
  settings.sampler = sampler_from(reader);
  const auto certificate = reader.first_of({"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"});
  if (certificate) settings.certificate = certificate->value;
  std::int64_t timeout = settings.timeout.count();
  std::int64_t delay = settings.schedule_delay.count();
  reader.take_number<std::int64_t>({"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"}, 1, 600'000,
                                   timeout);
  reader.take_number<std::int64_t>({"OTEL_BSP_SCHEDULE_DELAY"}, 1, 600'000, delay);
  reader.take_number<std::size_t>({"OTEL_BSP_MAX_QUEUE_SIZE"}, 1, 1'000'000, settings.most_queued);
  reader.take_number<std::size_t>({"OTEL_BSP_MAX_EXPORT_BATCH_SIZE"}, 1, 10'000, settings.most_in_batch);
  settings.timeout = milliseconds{timeout};
  settings.schedule_delay = milliseconds{delay};
  settings.most_in_batch = std::min(settings.most_in_batch, settings.most_queued);
  read.settings = std::move(settings);
  return read;
}

}  // namespace dogged::runtime
