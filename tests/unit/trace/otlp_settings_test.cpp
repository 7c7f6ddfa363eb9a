// OpenTelemetry's environment variables: what they set, and what is said of those that cannot be read.
#include "trace/otlp_settings.hpp"

#include <map>
#include <string>

#include "support/catch.hpp"

using dogged::TraceContext;
using dogged::runtime::OtlpSettings;
using dogged::runtime::OtlpSettingsRead;
using namespace std::chrono_literals;

namespace {

using Variables = std::map<std::string, std::string>;

OtlpSettingsRead read_from(const Variables& variables) {
  return dogged::runtime::read_otlp_settings([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  });
}

/// Of an endpoint and these variables, which must be sound.
OtlpSettings settings_of(Variables variables) {
  variables.insert({"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"});
  const OtlpSettingsRead read = read_from(variables);
  CHECK(read.warnings.empty());
  return read.settings.value();
}

/// The one warning about `variable`, where spans are exported all the same.
std::string warning_of(const std::string& variable, const std::string& value) {
  const OtlpSettingsRead read = read_from({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"}, {variable, value}});
  CHECK(read.settings.has_value());
  REQUIRE(read.warnings.size() == 1);
  CHECK_THAT(read.warnings.front(), Catch::Contains(variable));
  return read.warnings.front();
}

/// The one warning, or nothing, where no spans are exported.
std::string refusal_of(const Variables& variables) {
  const OtlpSettingsRead read = read_from(variables);
  CHECK_FALSE(read.settings.has_value());
  CHECK(read.warnings.size() <= 1);
  return read.warnings.empty() ? "" : read.warnings.front();
}

TraceContext::TraceId id_with_end(std::uint8_t byte) {
  TraceContext::TraceId id{};
  id[9] = byte;
  return id;
}

}  // namespace

TEST_CASE("spans are exported only if an endpoint is given, and not if the environment turns traces off") {
  const std::string endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
  CHECK(refusal_of({}).empty());
  CHECK(refusal_of({{endpoint, ""}}).empty());
  CHECK(refusal_of({{endpoint, " "}, {"OTEL_TRACES_SAMPLER", "nonsense"}}).empty());
  CHECK_FALSE(dogged::runtime::read_otlp_settings({}).settings.has_value());
  CHECK(refusal_of({{endpoint, "http://c"}, {"OTEL_SDK_DISABLED", "TRUE"}}).empty());
  CHECK(refusal_of({{endpoint, "http://c"}, {"OTEL_TRACES_EXPORTER", "none"}}).empty());
  CHECK_THAT(refusal_of({{endpoint, "http://c"}, {"OTEL_TRACES_EXPORTER", "console"}}), Catch::Contains("console"));
  CHECK_THAT(refusal_of({{endpoint, "http://c:4317"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}),
             Catch::Contains("http/json"));
  CHECK(settings_of({{"OTEL_SDK_DISABLED", "false"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}}).url ==
        "http://localhost:4318/v1/traces");
}

TEST_CASE("the endpoint of all signals gets the path of traces, and the endpoint of traces is taken as it is") {
  const auto url = [](const Variables& variables) { return read_from(variables).settings.value().url; };
  CHECK(url({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}}) == "http://c:4318/v1/traces");
  CHECK(url({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://c/otlp/"}}) == "https://c/otlp/v1/traces");
  CHECK(url({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://all"}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/in"}}) ==
        "http://c/in");
  CHECK(url({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1/x?y=1"}}) == "http://c:1/x/v1/traces?y=1");
  CHECK(url({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c/?y=/"}}) == "http://c/v1/traces?y=/");
  CHECK(url({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/in?y=1"}}) == "http://c/in?y=1");
}

TEST_CASE("an endpoint that is no URL is named, without its user, password, query and fragment") {
  const auto refusal = [](const std::string& endpoint, const char* variable = "OTEL_EXPORTER_OTLP_ENDPOINT") {
    const std::string warning = refusal_of({{variable, endpoint}});
    CHECK_THAT(warning, Catch::Contains(variable));
    CHECK_THAT(warning, Catch::Contains("http://localhost:4318") && !Catch::Contains("s3cret"));
    return warning;
  };
  for (const char* wrong : {"localhost:4318", "grpc://c", "http://", "http:///x", "http://a b"}) {
    CHECK_THAT(refusal(wrong), Catch::Contains(std::string{"is \""} + wrong + "\";"));
  }
  static_cast<void>(refusal("http://a\nb"));
  CHECK_THAT(refusal("http://?x=1"), Catch::Contains("is \"http://\";"));
  CHECK_THAT(refusal("http://c/x#s3cret"), Catch::Contains("is \"http://c/x\";"));
  CHECK_THAT(refusal("http://c/x#y", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), Catch::Contains("is \"http://c/x\";"));
  CHECK_THAT(refusal("http://ann:s3cret@c d/x?key=s3cret"), Catch::Contains("is \"http://c d/x\";"));
  CHECK_THAT(refusal("ann:s3cret@c"), Catch::Contains("is \"c\";"));
  for (const char* hides : {"http://ann:s3cret#/@c", "ann:s3cret?x@c", "grpc://ann:s3cret/x@c"}) {
    static_cast<void>(refusal(hides));
  }
}

TEST_CASE("the log shows an endpoint without user, password and query") {
  const auto shown = [](const std::string& url) {
    return read_from({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url}}).settings.value().shown_url;
  };
  CHECK(shown("https://ann:s3cret@c:4318/in?key=s3cret") == "https://c:4318/in");
  CHECK(shown("http://c/a@b") == "http://c/a@b");
  const OtlpSettingsRead of_all = read_from({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c/x?key=s3cret"}});
  CHECK(of_all.settings.value().shown_url == "http://c/x/v1/traces");
}

TEST_CASE("headers and attributes are pairs with percent-encoded values, and the variables of traces count first") {
  const OtlpSettings settings = settings_of({{"OTEL_EXPORTER_OTLP_HEADERS", "other=1"},
                                             {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", " api-key = a%20b%3D , ,x="},
                                             {"OTEL_RESOURCE_ATTRIBUTES", "a=1,service.name=shop,b=%C3%A9"}});
  CHECK(settings.headers == OtlpSettings::Pairs{{"api-key", "a b="}, {"x", ""}});
  CHECK(settings.resource.at(0) == std::pair<std::string, std::string>{"a", "1"});
  CHECK(settings.resource.at(1) == std::pair<std::string, std::string>{"service.name", "shop"});
  CHECK(settings.resource.at(2) == std::pair<std::string, std::string>{"b", "\xC3\xA9"});
}

TEST_CASE("OTEL_SERVICE_NAME counts over service.name among the attributes, and without either there is a name") {
  const auto name = [](const Variables& variables) {
    std::string names;
    for (const auto& [key, value] : settings_of(variables).resource) names += key == "service.name" ? value + ";" : "";
    return names;
  };
  CHECK(name({}) == "unknown_service;");
  CHECK(name({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=a"}}) == "a;");
  CHECK(name({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=a"}, {"OTEL_SERVICE_NAME", "b"}}) == "b;");
}

TEST_CASE("a malformed list does not count: the warning names the wrong attribute, and nothing of the headers") {
  for (const char* wrong : {"s3cret", "k=%4", "k=%", "k=%zz", "=s3cret"}) {
    for (const std::string& list : {std::string{wrong}, std::string{"a=1, "} + wrong + " ,b=2"}) {
      CHECK_THAT(warning_of("OTEL_EXPORTER_OTLP_HEADERS", list), !Catch::Contains(wrong));
      CHECK_THAT(warning_of("OTEL_RESOURCE_ATTRIBUTES", list),
                 Catch::Contains(std::string{" is \""} + wrong + "\";") && Catch::Contains("no attribute counts"));
    }
  }
  static_cast<void>(warning_of("OTEL_EXPORTER_OTLP_HEADERS", "a b=1"));
  static_cast<void>(warning_of("OTEL_EXPORTER_OTLP_HEADERS", "a=1%0D%0Ab: 2"));
}

TEST_CASE("numbers out of their ranges do not count, and the warning says which range and which number counts") {
  CHECK(settings_of({{"OTEL_EXPORTER_OTLP_TIMEOUT", "250"}}).timeout == 250ms);
  CHECK(settings_of({{"OTEL_BSP_SCHEDULE_DELAY", "100"}}).schedule_delay == 100ms);
  CHECK(settings_of({}).most_in_batch == 4'096);  // as docs/tracing.md says
  CHECK(settings_of({{"OTEL_BSP_MAX_QUEUE_SIZE", "10"}}).most_in_batch == 10);
  for (const char* wrong : {"0", "-1", "10s", "600001", "99999999999999999999"}) {
    CHECK_THAT(warning_of("OTEL_EXPORTER_OTLP_TIMEOUT", wrong), Catch::Contains("1 to 600000; 10000 counts"));
  }
  CHECK_THAT(warning_of("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"), Catch::Contains("http/json"));
}

TEST_CASE("the sampler follows the producer's decision where it is told to, and else the trace's id") {
  const auto sampler = [](const std::string& name, const std::string& argument = "0.5") {
    return settings_of({{"OTEL_TRACES_SAMPLER", name}, {"OTEL_TRACES_SAMPLER_ARG", argument}}).sampler;
  };
  TraceContext sampled;
  sampled.sampled = true;
  const TraceContext unsampled;
  const auto low = id_with_end(0x7f);   // just below the middle
  const auto high = id_with_end(0x80);  // the middle

  CHECK(settings_of({}).sampler.samples(high, std::nullopt));
  CHECK_FALSE(settings_of({}).sampler.samples(high, unsampled));
  CHECK(sampler("always_on").samples(high, unsampled));
  CHECK_FALSE(sampler("always_off").samples(low, sampled));
  CHECK(sampler("parentbased_always_off").samples(low, sampled));
  CHECK_FALSE(sampler("parentbased_always_off").samples(low, std::nullopt));
  CHECK(sampler("parentbased_traceidratio").samples(low, std::nullopt));
  CHECK_FALSE(sampler("parentbased_traceidratio").samples(high, std::nullopt));
  CHECK(sampler("parentbased_traceidratio").samples(high, sampled));
  CHECK_FALSE(sampler("traceidratio").samples(high, sampled));
  CHECK(sampler("traceidratio", "1").samples(id_with_end(0xff), std::nullopt));
  CHECK_FALSE(sampler("traceidratio", "0").samples(id_with_end(0), std::nullopt));
}

TEST_CASE("a sampler that a worker has not is warned of, and the default counts") {
  CHECK_THAT(warning_of("OTEL_TRACES_SAMPLER", "parentbased_jaeger_remote"), Catch::Contains("parentbased_always_on"));
  for (const char* wrong : {"2", "-0.1", "half", "nan"}) {
    const OtlpSettingsRead read = read_from({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"},
                                             {"OTEL_TRACES_SAMPLER", "traceidratio"},
                                             {"OTEL_TRACES_SAMPLER_ARG", wrong}});
    REQUIRE(read.warnings.size() == 1);
    CHECK_THAT(read.warnings.front(), Catch::Contains("OTEL_TRACES_SAMPLER_ARG"));
    CHECK(read.settings.value().sampler.ratio == 1);
  }
}
