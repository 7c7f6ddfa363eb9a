// Classification: that the tables are sound, that lists and functions say the same, and what each source's errors mean.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <dogged/classification.hpp>
#include <dogged/code_sets.hpp>

#include "support/catch.hpp"
#include "support/property.hpp"

using namespace std::chrono_literals;
using namespace dogged;
using Catch::Matchers::Contains;
namespace tables = dogged::detail::tables;

namespace {

constexpr auto transient = Category::transient;
constexpr auto throttled = Category::throttled;
constexpr auto permanent = Category::permanent;
constexpr auto unknown = Category::unknown;

using Names = std::vector<std::string_view>;

Names names_of(const ErrorCodes& codes) { return {codes.begin(), codes.end()}; }

/// The codes of a table's rows of a category in their order, by other code than the lists are made with.
Names rows_of(const detail::CodeTable& table, Category category) {
  Names names;
  for (const detail::CodeRow& row : table.rows) {
    if (row.category == category && std::find(names.begin(), names.end(), row.code) == names.end()) {
      names.push_back(row.code);
    }
  }
  return names;
}

const std::vector<ErrorCodes>& every_list() {
  static const std::vector<ErrorCodes> lists = {
      codes::base_retryable,  codes::connect_transient, codes::http_retryable, codes::sqlstate_transient,
      codes::curl_transient,  codes::errno_transient,   codes::grpc_retryable, codes::aws_retryable,
      codes::azure_retryable, codes::mongodb_retryable, codes::redis_transient};
  return lists;
}

bool is_listed(std::string_view code) {
  return std::any_of(every_list().begin(), every_list().end(),
                     [&](const ErrorCodes& list) { return list.contains(code); });
}

std::string text_of(const Classification& result) {
  return std::string{to_text(result.category)} + " " + result.code.str();
}

Classification classify_row(CodeSource source, const detail::CodeRow& row) {
  switch (source) {
    case CodeSource::name:
      return classify_name(row.name);
    case CodeSource::http:
      return classify_http(row.number);
    case CodeSource::sqlstate:
      return classify_sqlstate(row.name.size() == 2 ? std::string{row.name} + "ZZZ" : std::string{row.name});
    case CodeSource::curl:
      return classify_curl(row.number);
    case CodeSource::errno_number:
      return classify_errno(row.number);
    case CodeSource::grpc:
      return row.number == detail::CodeRow::no_number ? classify_grpc(row.name) : classify_grpc(row.number);
    case CodeSource::aws:
      return classify_aws(row.name);
    case CodeSource::azure:
      return classify_azure(row.name);
    case CodeSource::mongodb:
      return row.number == detail::CodeRow::no_number ? classify_mongodb(0, {row.name}) : classify_mongodb(row.number);
    case CodeSource::redis:
      return classify_redis(row.name);
  }
  return {.code = "UNKNOWN"};
}

bool is_class(CodeSource source, const detail::CodeRow& row) {
  return (source == CodeSource::http && row.number < 100) || (source == CodeSource::sqlstate && row.name.size() == 2);
}

}  // namespace

TEST_CASE("No table has two rows for one error") {
  for (const detail::CodeTable& table : tables::all) {
    std::set<std::string_view> names;
    std::set<int> numbers;
    for (const detail::CodeRow& row : table.rows) {
      CAPTURE(row.name, row.number);
      CHECK(names.insert(row.name).second);
      if (row.number != detail::CodeRow::no_number) CHECK(numbers.insert(row.number).second);
    }
  }
}

TEST_CASE("Every row has a valid code, a reason and a source") {
  for (const detail::CodeTable& table : tables::all) {
    CHECK_FALSE(table.rows.empty());
    for (const detail::CodeRow& row : table.rows) {
      CAPTURE(row.name);
      CHECK(detail::is_valid_error_code(row.code));
      CHECK_FALSE(row.reason.empty());
      const std::string_view source = row.source.empty() ? table.url : row.source;
      CHECK((source.starts_with("https://") || source == tables::client_code || table.source == CodeSource::name));
    }
  }
}

TEST_CASE("A code has the same category in every table") {
  std::map<std::string_view, Category> categories;
  for (const detail::CodeTable& table : tables::all) {
    for (const detail::CodeRow& row : table.rows) {
      CAPTURE(row.code);
      CHECK(categories.emplace(row.code, row.category).first->second == row.category);
    }
  }
}

TEST_CASE("Every row is what its source's function answers") {
  for (const detail::CodeTable& table : tables::all) {
    for (const detail::CodeRow& row : table.rows) {
      if (table.source == CodeSource::http && is_class(table.source, row)) continue;
      if (row.name == "SystemOverloadedError")
        continue;  // tells the time of a retry, beside retryable codes: see MongoDB's codes
      CAPTURE(row.name, row.number);
      const Classification result = classify_row(table.source, row);
      CHECK(result.category == row.category);
      CHECK(result.reason == row.reason);
      const bool is_whole = !is_class(table.source, row) || is_retryable(row.category);
      const std::string expected{is_whole ? std::string{row.code} : std::string{row.code} + "ZZZ"};
      const bool is_label_of_no_use = table.source == CodeSource::mongodb && !is_retryable(row.category);
      if (!is_label_of_no_use) CHECK(result.code.view() == expected);
      const bool is_of_provider =
          table.source == CodeSource::aws || table.source == CodeSource::azure || row.name == "ProviderThrottling";
      CHECK(result.retry_after.has_value() == (row.category == throttled && is_of_provider));
      CHECK((result.precision == Precision::about) == result.retry_after.has_value());
    }
  }
}

TEST_CASE("The lists are the rows of the tables") {
  const auto check = [](const detail::CodeTable& table, const ErrorCodes& of_transient, const ErrorCodes& of_throttled,
                        const ErrorCodes& of_both) {
    CAPTURE(table.prefix);
    CHECK(names_of(of_transient) == rows_of(table, transient));
    CHECK(names_of(of_throttled) == rows_of(table, throttled));
    CHECK(of_both.size() == of_transient.size() + of_throttled.size());
    CHECK(of_both.size() <= ErrorCodes::max_size);
  };
  check(tables::base, codes::base_transient, codes::base_throttled, codes::base_retryable);
  check(tables::connection, codes::connect_transient, {}, codes::connect_transient);
  check(tables::http, codes::http_transient, codes::http_throttled, codes::http_retryable);
  check(tables::sqlstate, codes::sqlstate_transient, {}, codes::sqlstate_transient);
  check(tables::curl, codes::curl_transient, {}, codes::curl_transient);
  check(tables::errno_numbers, codes::errno_transient, {}, codes::errno_transient);
  check(tables::grpc, codes::grpc_transient, codes::grpc_throttled, codes::grpc_retryable);
  check(tables::aws, codes::aws_transient, codes::aws_throttled, codes::aws_retryable);
  check(tables::azure, codes::azure_transient, codes::azure_throttled, codes::azure_retryable);
  check(tables::mongodb, codes::mongodb_transient, codes::mongodb_throttled, codes::mongodb_retryable);
  check(tables::redis, codes::redis_transient, {}, codes::redis_transient);
}

TEST_CASE("The lists are constants, and go together") {
  constexpr ErrorCodes together = codes::http_transient + codes::http_throttled + codes::connect_transient;
  static_assert(together.contains("HTTP_429") && together.contains("HTTP_503") && together.contains("CONNECT_REFUSED"));
  static_assert(together.size() <= ErrorCodes::max_size);
  static_assert(!together.contains("HTTP_404"));
}

namespace {

std::string any_sqlstate() {
  constexpr std::string_view letters = "0123456789PXZabc";
  std::string text(5, ' ');
  for (char& letter : text) letter = letters[test::any_of(letters.size())];
  return text;
}

}  // namespace

TEST_CASE("An error is in a list where it is transient or throttled, and nowhere else") {
  const auto same = [](const Classification& result) {
    RC_ASSERT(is_listed(result.code.view()) == is_retryable(result.category));
    RC_ASSERT(detail::is_valid_error_code(result.code.view()));
  };
  CHECK(test::holds([&] {
    const int number = test::any_of(2) == 0 ? test::any_in_range(-10, 700) : test::any_int();
    for (const Classification& result : {classify_http(number), classify_curl(number), classify_errno(number),
                                         classify_grpc(number), classify_mongodb(number)}) {
      same(result);
    }
  }));
  CHECK(test::holds([&] {
    const std::string text = test::any_of(2) == 0 ? test::any_text() : any_sqlstate();
    for (const Classification& result :
         {classify_sqlstate(text), classify_grpc(std::string_view{text}), classify_aws(text), classify_azure(text),
          classify_redis(text), classify_mongodb(0, {std::string_view{text}}), classify_name(text)}) {
      same(result);
    }
  }));
}

TEST_CASE("The base set") {
  for (const char* name : {"TemporaryServiceUnavailable", "NetworkTimeout", "RateLimitExceeded", "ProviderThrottling",
                           "TransientDatabaseError"}) {
    CAPTURE(name);
    CHECK(is_retryable(classify_name(name).category));
    CHECK(codes::base_retryable.contains(classify_name(name).code.view()));
  }
  for (const char* name : {"InvalidMessage", "AuthenticationFailure", "AuthorizationFailure", "ValidationError",
                           "PermanentServiceError"}) {
    CAPTURE(name);
    CHECK(classify_name(name).category == permanent);
  }
  CHECK(text_of(classify_name("RateLimitExceeded")) == "throttled RATE_LIMIT_EXCEEDED");
  CHECK(text_of(classify_name("network-timeout")) == "transient NETWORK_TIMEOUT");
  CHECK(text_of(classify_name("SomethingElse")) == "unknown SOMETHING_ELSE");
  CHECK(text_of(classify_name("")) == "unknown UNKNOWN");
}

TEST_CASE("An error code of any table is known by itself") {
  CHECK(text_of(classify_name("HTTP_503")) == "transient HTTP_503");
  CHECK(text_of(classify_name("PG_40P01")) == "transient PG_40P01");
  CHECK(text_of(classify_name("CONNECT_REFUSED")) == "transient CONNECT_REFUSED");
  CHECK(text_of(classify_name("HTTP_404")) == "permanent HTTP_404");
}

TEST_CASE("HTTP statuses") {
  for (int status : {408, 425, 500, 502, 503, 504}) CHECK(classify_http(status).category == transient);
  for (int status : {301, 400, 401, 403, 404, 409, 410, 418, 422, 451, 499, 501}) {
    CHECK(classify_http(status).category == permanent);
  }
  for (int status : {-1, 0, 3, 4, 5, 100, 200, 204, 600, 700}) {
    CAPTURE(status);
    CHECK(classify_http(status).category == unknown);
  }
  CHECK(text_of(classify_http(429)) == "throttled HTTP_429");
  CHECK(text_of(classify_http(418)) == "permanent HTTP_418");
  for (int status : {506, 510, 529, 530, 599}) CHECK(text_of(classify_http(status)) == "transient HTTP_5XX");
  CHECK(codes::http_transient.contains("HTTP_5XX"));
  CHECK(text_of(classify_http(-1)) == "unknown HTTP_UNKNOWN");
}

TEST_CASE("What HTTP asks to wait is the wait, and where it does not say the policy decides") {
  const auto now = std::chrono::sys_days{std::chrono::year{1994} / 11 / 6} + 8h + 49min + 37s;
  CHECK(classify_http(429).retry_after == std::nullopt);
  CHECK(classify_http(429, {.retry_after = "soon"}).retry_after == std::nullopt);
  CHECK(classify_http(429, {.retry_after = "7"}).retry_after == 7s);
  CHECK(classify_http(429, {.retry_after = "0"}).retry_after == 0s);
  CHECK(classify_http(503, {.retry_after = "120"}).retry_after == 120s);
  CHECK(classify_http(503).retry_after == std::nullopt);
  const std::string_view date = "Sun, 06 Nov 1994 08:50:07 GMT";
  CHECK(classify_http(503, {.retry_after = date, .now = now}).retry_after == 30s);
  CHECK(classify_http(503, {.retry_after = date, .date = "Sun, 06 Nov 1994 08:50:00 GMT"}).retry_after == 7s);
  CHECK(classify_http(503, {.retry_after = date}).retry_after == std::nullopt);
  CHECK(classify_http(503, {.retry_after = "999999"}).retry_after == 24h);
}

TEST_CASE("SQLSTATEs, by themselves and by class") {
  for (const char* state : {"40001", "40P01", "08006", "53300", "55P03", "57P01", "57P03"}) {
    CAPTURE(state);
    CHECK(text_of(classify_sqlstate(state)) == std::string{"transient PG_"} + state);
  }
  CHECK(text_of(classify_sqlstate("08ZZZ")) == "transient PG_08");
  CHECK(text_of(classify_sqlstate("40002")) == "permanent PG_40002");
  CHECK(text_of(classify_sqlstate("23505")) == "permanent PG_23505");
  CHECK(text_of(classify_sqlstate("42P01")) == "permanent PG_42P01");
  CHECK(text_of(classify_sqlstate("57014")) == "unknown PG_57014");
  CHECK(text_of(classify_sqlstate("XX000")) == "unknown PG_XX000");
  for (const char* no_state : {"", "08", "4000", "400011", "40p01", "40 01", "HV00N\n"}) {
    CAPTURE(no_state);
    CHECK(text_of(classify_sqlstate(no_state)) == "unknown PG_UNKNOWN");
  }
}

TEST_CASE("libcurl and errno tell the same end of a connection with the same code") {
  CHECK(text_of(classify_errno(ECONNREFUSED)) == "transient CONNECT_REFUSED");
  CHECK(text_of(classify_errno(ETIMEDOUT)) == "transient RESPONSE_TIMEOUT");
  CHECK(text_of(classify_errno(ENETUNREACH)) == "transient CONNECT_FAILED");
  CHECK(text_of(classify_curl(7)) == "transient CONNECT_FAILED");
  CHECK(text_of(classify_errno(ECONNRESET)) == "transient CONNECTION_RESET");
  CHECK(text_of(classify_curl(56)) == "transient CONNECTION_RESET");
  CHECK(text_of(classify_curl(28)) == "transient RESPONSE_TIMEOUT");
  CHECK(text_of(classify_curl(6)) == "transient DNS_FAILURE");
  CHECK(text_of(classify_curl(60)) == "permanent TLS_ERROR");
  CHECK(text_of(classify_curl(3)) == "permanent INVALID_URL");
  CHECK(text_of(classify_curl(27)) == "transient OUT_OF_MEMORY");
  CHECK(text_of(classify_errno(ENOMEM)) == "transient OUT_OF_MEMORY");
  CHECK(text_of(classify_errno(EAGAIN)) == "transient ERRNO_EAGAIN");
  CHECK(text_of(classify_errno(EACCES)) == "permanent ERRNO_EACCES");
  CHECK(text_of(classify_curl(4711)) == "unknown CURL_4711");
  CHECK(text_of(classify_errno(4711)) == "unknown ERRNO_4711");
}

TEST_CASE("gRPC's codes, by number and by name") {
  CHECK(text_of(classify_grpc(14)) == "transient GRPC_UNAVAILABLE");
  CHECK(text_of(classify_grpc("14")) == "transient GRPC_UNAVAILABLE");
  CHECK(text_of(classify_grpc("UNAVAILABLE")) == "transient GRPC_UNAVAILABLE");
  CHECK(text_of(classify_grpc("DeadlineExceeded")) == "transient GRPC_DEADLINE_EXCEEDED");
  CHECK(text_of(classify_grpc("RESOURCE_EXHAUSTED")) == "throttled GRPC_RESOURCE_EXHAUSTED");
  CHECK(classify_grpc(8).retry_after == std::nullopt);
  CHECK(text_of(classify_grpc(3)) == "permanent GRPC_INVALID_ARGUMENT");
  CHECK(text_of(classify_grpc(99)) == "unknown GRPC_99");
}

TEST_CASE("gRPC's pushback and RetryInfo are the wait, the pushback first") {
  CHECK(classify_grpc(14, {.retry_delay = 1500ms}).retry_after == 1500ms);
  CHECK(classify_grpc("RESOURCE_EXHAUSTED", {.retry_delay = 3s}).retry_after == 3s);
  CHECK(classify_grpc(14, {.retry_pushback_ms = "250", .retry_delay = 3s}).retry_after == 250ms);
  CHECK(classify_grpc(14, {.retry_pushback_ms = "0"}).retry_after == 0ms);
  CHECK(classify_grpc(14, {.retry_delay = -1s}).retry_after == 0ms);
  CHECK(classify_grpc(14, {.retry_delay = 48h}).retry_after == 24h);
  CHECK(text_of(classify_grpc(14, {.retry_pushback_ms = "250"})) == "transient GRPC_UNAVAILABLE");
}

TEST_CASE("A pushback of gRPC that is negative or no number asks not to try again") {
  for (const char* pushback : {"-1", "soon", " ", "-", "8.5", " 8", "99999999999999999999"}) {
    INFO(pushback);
    CHECK(text_of(classify_grpc(14, {.retry_pushback_ms = pushback, .retry_delay = 3s})) ==
          "permanent GRPC_DO_NOT_RETRY");
    CHECK(classify_grpc("UNAVAILABLE", {.retry_pushback_ms = pushback}).retry_after == std::nullopt);
    CHECK_FALSE(codes::grpc_retryable.contains(classify_grpc(8, {.retry_pushback_ms = pushback}).code.view()));
    CHECK(text_of(classify_grpc(3, {.retry_pushback_ms = pushback})) == "permanent GRPC_INVALID_ARGUMENT");
  }
  CHECK(text_of(classify_name("GRPC_DO_NOT_RETRY")) == "permanent GRPC_DO_NOT_RETRY");
}

TEST_CASE("The headers of AWS and Azure are the wait, milliseconds before seconds") {
  CHECK(classify_aws("ThrottlingException", {.retry_after_ms = "1500"}).retry_after == 1500ms);
  CHECK(classify_aws("SlowDown", {.retry_after = "7"}).retry_after == 7s);
  CHECK(classify_azure("ServerBusy", {.retry_after = "7", .retry_after_ms = "33"}).retry_after == 33ms);
  CHECK(classify_azure("ServerBusy", {.retry_after = "7", .retry_after_ms = "unreadable"}).retry_after == 7s);
  CHECK(classify_azure("ServerBusy", {.retry_after = "unreadable"}).retry_after == 60s);
  CHECK(classify_http(429, {.retry_after = "7", .retry_after_ms = "33"}).retry_after == 33ms);
  const Classifier own = Classifier{}
                             .set(CodeSource::aws, "SlowDown", {.category = throttled, .retry_after = 5s})
                             .set(CodeSource::grpc, "UNAVAILABLE", {.category = transient, .retry_after = 5s});
  CHECK(own.aws("SlowDown", {.retry_after_ms = "33"}).retry_after == 33ms);  // what the source asks for goes first
  CHECK(own.grpc(14, {.retry_delay = 3s}).retry_after == 3s);
  CHECK(own.grpc(14).retry_after == 5s);
}

TEST_CASE("Only a provider's throttling has a wait that the source did not say, and it is not exact") {
  for (const Classification& unasked : {classify_aws("SlowDown"), classify_azure("ServerBusy"),
                                        classify_name("ProviderThrottling"), classify_name("AWS_THROTTLING")}) {
    CHECK(unasked.retry_after == 60s);
    CHECK(unasked.precision == Precision::about);
  }
  for (const Classification& by_policy :
       {classify_http(429), classify_name("RateLimitExceeded"), classify_grpc(8), classify_mongodb(462)}) {
    CHECK(by_policy.category == throttled);
    CHECK(by_policy.retry_after == std::nullopt);
  }
  CHECK(classify_aws("SlowDown", {.retry_after = "7"}).precision == Precision::exact);
  CHECK(classify_http(429, {.retry_after = "7"}).precision == Precision::exact);
}

TEST_CASE("AWS's codes, as its services send them") {
  for (const char* name : {"SqsUnavailable", "VisibilityTimeoutExpired", "MessageNotInflight", "ThrottlingException"}) {
    CAPTURE(name);
    CHECK(is_retryable(classify_aws(name).category));
  }
  for (const char* name :
       {"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException",
        "TooManyRequestsException", "ProvisionedThroughputExceededException", "TransactionInProgressException",
        "RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException", "RequestThrottled", "SlowDown",
        "PriorRequestNotComplete", "EC2ThrottledException"}) {
    CAPTURE(name);
    CHECK(classify_aws(name).category == throttled);
    CHECK(classify_aws(name).retry_after == 60s);
  }
  for (const char* name : {"RequestTimeout", "RequestTimeoutException"}) {
    CHECK(classify_aws(name).category == transient);
  }
  for (const char* name : {"InvalidParameterValue", "AccessDenied"}) CHECK(classify_aws(name).category == permanent);
  CHECK(text_of(classify_aws("EC2ThrottledException")) == "throttled AWS_EC2_THROTTLED_EXCEPTION");
  CHECK(text_of(classify_aws("com.amazonaws.dynamodb.v20120810#ThrottlingException")) ==
        "throttled AWS_THROTTLING_EXCEPTION");
  CHECK(text_of(classify_aws("ValidationError:http://internal/")) == "permanent AWS_VALIDATION_ERROR");
  CHECK(text_of(classify_aws("AWS.SimpleQueueService.MessageNotInflight")) == "transient AWS_MESSAGE_NOT_INFLIGHT");
  CHECK(text_of(classify_aws("KMSInternalException")) == "unknown AWS_KMS_INTERNAL_EXCEPTION");
  CHECK(text_of(classify_aws(std::string(65, 'a'))) == "unknown AWS_UNKNOWN");
}

TEST_CASE("Azure's codes, reasons and AMQP conditions") {
  for (const char* name : {"ServiceBusUnavailable", "MessageLockLost", "SessionLockLost", "QuotaExceeded"}) {
    CAPTURE(name);
    CHECK(is_retryable(classify_azure(name).category));
  }
  for (const char* name : {"InvalidOperation", "UnauthorizedAccess"}) {
    CHECK(classify_azure(name).category == permanent);
  }
  CHECK(text_of(classify_azure("com.microsoft:server-busy")) == "throttled AZURE_SERVER_BUSY");
  CHECK(text_of(classify_azure("com.microsoft:message-lock-lost")) == "transient AZURE_MESSAGE_LOCK_LOST");
  CHECK(text_of(classify_azure("amqp:connection:forced")) == "transient AZURE_CONNECTION_FORCED");
  CHECK(text_of(classify_azure("amqp:unauthorized-access")) == "permanent AZURE_UNAUTHORIZED_ACCESS");
  CHECK(text_of(classify_azure("Other")) == "unknown AZURE_OTHER");
}

TEST_CASE("MongoDB's codes and labels") {
  for (int code : {6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436}) {
    CAPTURE(code);
    CHECK(classify_mongodb(code).category == transient);
  }
  CHECK(text_of(classify_mongodb(10107)) == "transient MONGODB_NOT_WRITABLE_PRIMARY");
  CHECK(text_of(classify_mongodb(11000)) == "permanent MONGODB_DUPLICATE_KEY");
  CHECK(text_of(classify_mongodb(1)) == "transient MONGODB_INTERNAL_ERROR");
  CHECK(text_of(classify_mongodb(0, {"Internal"})) == "transient MONGODB_INTERNAL");
  CHECK(text_of(classify_mongodb(0, {"ConnectionPoolTimeout"})) == "transient MONGODB_CONNECTION_POOL_TIMEOUT");
  CHECK(text_of(classify_mongodb(4711)) == "transient MONGODB_OTHER");
  CHECK(codes::mongodb_transient.contains("MONGODB_OTHER"));
  CHECK(text_of(classify_mongodb(4711, {"NoWritesPerformed"})) == "transient MONGODB_OTHER");
  CHECK(text_of(classify_mongodb(-5)) == "unknown MONGODB_UNKNOWN");
  CHECK(text_of(classify_mongodb(0)) == "unknown MONGODB_UNKNOWN");
  CHECK(text_of(classify_mongodb(4711, {"RetryableWriteError"})) == "transient MONGODB_RETRYABLE_WRITE_ERROR");
  CHECK(text_of(classify_mongodb(0, {"NoWritesPerformed", "TransientTransactionError"})) ==
        "transient MONGODB_TRANSIENT_TRANSACTION_ERROR");
  CHECK(text_of(classify_mongodb(112, {"TransientTransactionError"})) == "transient MONGODB_WRITE_CONFLICT");
  CHECK(text_of(classify_mongodb(4711, {"RetryableError", "SystemOverloadedError"})) ==
        "throttled MONGODB_SYSTEM_OVERLOADED_ERROR");
  CHECK(text_of(classify_mongodb(91, {"SystemOverloadedError"})) == "throttled MONGODB_SYSTEM_OVERLOADED_ERROR");
  CHECK(text_of(classify_mongodb(11000, {"SystemOverloadedError"})) == "permanent MONGODB_DUPLICATE_KEY");
  CHECK(text_of(classify_mongodb(11000, {"NoWritesPerformed"})) == "permanent MONGODB_DUPLICATE_KEY");
}

TEST_CASE("Redis's error replies, by their kind") {
  for (const char* kind :
       {"BUSY", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "MOVED", "ASK", "OOM"}) {
    CAPTURE(kind);
    CHECK(text_of(classify_redis(std::string{"-"} + kind + " and more\r\n")) == std::string{"transient REDIS_"} + kind);
  }
  for (const char* kind : {"NOAUTH", "WRONGTYPE", "NOPERM", "CROSSSLOT"}) {
    CHECK(classify_redis(kind).category == permanent);
  }
  CHECK(text_of(classify_redis("MOVED 3999 127.0.0.1:6381")) == "transient REDIS_MOVED");
  CHECK(text_of(classify_redis("BUSYGROUP Consumer Group name already exists")) == "permanent REDIS_BUSYGROUP");
  CHECK(text_of(classify_redis("ERR max number of clients reached")) ==
        "transient REDIS_ERR_MAX_NUMBER_OF_CLIENTS_REACHED");
  CHECK(text_of(classify_redis("-ERR unknown command")) == "unknown REDIS_ERR");
  CHECK(text_of(classify_redis("-MODULEBUSY try later")) == "transient REDIS_OTHER");
  CHECK(codes::redis_transient.contains("REDIS_OTHER"));
  for (const char* none : {"", "-", "busy now", "+OK", " BUSY"}) {
    CAPTURE(none);
    CHECK(text_of(classify_redis(none)) == "unknown REDIS_UNKNOWN");
  }
}

TEST_CASE("A row of one's own goes before the tables") {
  Classifier classifier;
  classifier.set(CodeSource::http, 409, {.category = transient, .retry_after = 5s, .reason = "a lock of Stripe"})
      .set(CodeSource::http, 429, {.category = permanent})
      .set(CodeSource::aws, "KMSInternalException", {.category = throttled})
      .set(CodeSource::curl, "CURLE_AGAIN", {.category = permanent, .code = "NOT_READY"})
      .set(CodeSource::sqlstate, "P0001", {.category = transient})
      .set(CodeSource::sqlstate, "57", {.category = transient})
      .set(CodeSource::sqlstate, "23", {.category = unknown})
      .set(CodeSource::grpc, "INTERNAL", {.category = transient})
      .set(CodeSource::mongodb, "MyLabel", {.category = transient})
      .set(CodeSource::redis, "OTHER", {.category = unknown})
      .set(CodeSource::redis, "ERR hash value is not an integer", {.category = permanent})
      .set(CodeSource::name, "PaymentDeclined", {.category = permanent});
  CHECK(text_of(classifier.http(409)) == "transient HTTP_409");
  CHECK(classifier.http(409).retry_after == 5s);
  CHECK(classifier.http(409, {.retry_after = "7"}).retry_after == 7s);
  CHECK(classifier.http(409).reason == "a lock of Stripe");
  CHECK(text_of(classifier.http(429)) == "permanent HTTP_429");
  CHECK(classifier.http(429).retry_after == std::nullopt);
  CHECK(text_of(classifier.aws("KMSInternalException")) == "throttled AWS_KMS_INTERNAL_EXCEPTION");
  CHECK(classifier.aws("KMSInternalException").retry_after == 60s);
  CHECK(text_of(classifier.curl(81)) == "permanent NOT_READY");
  CHECK(text_of(classifier.sqlstate("P0001")) == "transient PG_P0001");
  CHECK(text_of(classifier.sqlstate("57014")) == "transient PG_57");
  CHECK(text_of(classifier.sqlstate("57P04")) == "permanent PG_57P04");  // a row of its own is closer
  CHECK(text_of(classifier.sqlstate("23505")) == "unknown PG_23505");
  CHECK(text_of(classifier.grpc(13)) == "transient GRPC_INTERNAL");
  CHECK(text_of(classifier.mongodb(4711, {"MyLabel"})) == "transient MONGODB_MY_LABEL");
  CHECK(classifier.redis("-MODULEBUSY").category == unknown);
  CHECK(text_of(classifier.redis("-ERR hash value is not an integer\r\n")) ==
        "permanent REDIS_ERR_HASH_VALUE_IS_NOT_AN_INTEGER");
  CHECK(text_of(classifier.name("PaymentDeclined")) == "permanent PAYMENT_DECLINED");
  CHECK(text_of(classifier.http(503)) == "transient HTTP_503");

  const Classifier copy = classifier;
  classifier.set(CodeSource::http, 409, {.category = permanent});
  CHECK(classifier.http(409).category == permanent);
  CHECK(copy.http(409).category == transient);
  CHECK(text_of(classify_http(409)) == "permanent HTTP_409");
}

TEST_CASE("A row that cannot be is refused, and the classifier stays as it was") {
  Classifier classifier;
  const auto refused = [&](auto source, auto key, const Classifier::Row& row, const std::string& message) {
    CHECK_THROWS_WITH(classifier.set(source, key, row), Contains(message));
  };
  refused(CodeSource::http, 600, {}, "the http number 600 is not a status, 100 to 599");
  refused(CodeSource::http, "503", {}, "give a number, 100 to 599");
  refused(CodeSource::aws, 5, {}, "the aws number 5 cannot be added: errors of this source have names");
  refused(CodeSource::curl, -1, {}, "the curl number -1 is negative; it must be 0 or more");
  refused(CodeSource::http, 0, {}, "the http number 0 is not a status, 100 to 599");
  refused(CodeSource::mongodb, 0, {}, "the mongodb number 0 is not an error's; it must be 1 or more");
  refused(CodeSource::grpc, "14", {}, "the name \"14\" cannot be added to grpc: it is a number");
  refused(CodeSource::mongodb, "112", {}, "add it by its number");
  refused(CodeSource::redis, "loading the dataset", {}, "a Redis error begins with its kind");
  refused(CodeSource::curl, "CURLE_AGIAN", {}, "(did you mean \"CURLE_AGAIN\"?)");
  refused(CodeSource::errno_number, "ENOTHING", {}, "the name \"ENOTHING\" cannot be added to errno_number");
  refused(CodeSource::sqlstate, "4000", {}, "it must be an SQLSTATE of five of 0-9 A-Z, or its class");
  refused(CodeSource::sqlstate, "p0", {}, "it must be an SQLSTATE");
  refused(CodeSource::azure, "", {}, "the name \"\" cannot be added to azure: it makes no error code");
  refused(CodeSource::name, "9lives", {}, "it makes no error code, which has 1 to 64 of A-Z 0-9 _");
  refused(CodeSource::http, 409, {.code = "bad code"}, "the error code \"bad code\" is not 1 to 64 of A-Z 0-9 _");
  refused(CodeSource::http, 409, {.retry_after = 25h}, "retry_after is 25h; it must be 0 to 24h");
  refused(CodeSource::http, 409, {.retry_after = -1ms}, "retry_after is -1ms; it must be 0 to 24h");
  CHECK(classifier.http(409) == classify_http(409));
}
