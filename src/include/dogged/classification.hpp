// Classifies errors: whether a retry may help, and the code to fail with. For HTTP, PostgreSQL, libcurl, errno,
// gRPC, AWS, Azure, MongoDB and Redis.
//
//   const dogged::Classification failure = dogged::classify_http(response.status, {.retry_after = "120"});
//   if (dogged::is_retryable(failure.category)) …
//   throw dogged::TaskError{failure, message};
//
// The tables are in <dogged/detail/classification_tables.hpp>, each row with its source. <dogged/code_sets.hpp>
// makes lists for auto_retry_for of the same rows. An error that no table lists is `unknown`, but MongoDB's and Redis's
// are transient: MONGODB_OTHER, REDIS_OTHER. A Classifier adds rows of your own.
//
// No function here allocates or throws, except Classifier::set. All are thread-safe.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dogged/codes.hpp>
#include <dogged/delay.hpp>

namespace dogged {

/// How long a caller waits, about, whom a provider throttles without saying how long: ProviderThrottling, and what AWS
/// and Azure throttle. Any other limit of a rate, such as HTTP_429, is retried by the policy where the source does not
/// say how long.
inline constexpr milliseconds provider_retry_after = std::chrono::seconds{60};

struct Classification {
  Category category = Category::unknown;
  /// The row's code; without one, made of the source's own code, as HTTP_418 or AWS_SOME_NEW_ERROR (…_UNKNOWN if
  /// that makes no code). An error whose category is not transient or throttled never has a code of the lists in
  /// code_sets.hpp.
  ErrorCode code;
  /// Replaces a policy's delay: the wait that the source asked for, or provider_retry_after. 0 to 24 h; 0: at
  /// once.
  std::optional<milliseconds> retry_after = {};
  /// Of retry_after: exact where the source or a row of the Classifier has said it, about for provider_retry_after.
  Precision precision = Precision::exact;
  /// For people. A literal, or the text of a row of the Classifier, which must live as long.
  std::string_view reason = {};

  friend bool operator==(const Classification&, const Classification&) = default;
};

/// Headers of an HTTP response, with their values as received; empty: the response had none.
struct HttpHeaders {
  std::string_view retry_after = {};
  std::string_view date = {};
  /// The local clock, for a Retry-After that is a date in a response without Date. Without `now` such a date is not
  /// read.
  std::optional<std::chrono::system_clock::time_point> now = {};
  /// A header that gives the wait in milliseconds: Azure's x-ms-retry-after-ms and retry-after-ms, AWS's
  /// x-amz-retry-after. This header takes precedence over Retry-After if its value can be read.
  std::string_view retry_after_ms = {};
};

/// The fields of a gRPC response, besides its status, that decide about a retry.
struct GrpcResponse {
  /// The trailer grpc-retry-pushback-ms, as received; empty: there was none. A number is the wait in milliseconds, and
  /// takes precedence over retry_delay. A negative number, or a text that is no number, asks for no retry. The error
  /// then becomes permanent with the code GRPC_DO_NOT_RETRY, which no ready list has. auto_retry_for {"*"} still
  /// retries it. https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback
  std::string_view retry_pushback_ms = {};
  /// The retry_delay of a google.rpc.RetryInfo among the status's details. A negative one is 0; cut to 24 h.
  std::optional<milliseconds> retry_delay = {};
};

/// An HTTP status, with Retry-After in both its forms (<dogged/retry_after.hpp>). The code is HTTP_ and the status. A
/// 3xx or 4xx that is not listed is permanent. A 5xx that is not listed is transient, with the code HTTP_5XX. By RFC
/// 9110, section 15, a client takes an unknown status for the x00 of its class.
[[nodiscard]] Classification classify_http(int status, const HttpHeaders& headers = {}) noexcept;

/// PostgreSQL's SQLSTATE, five characters. A code that is not listed is classified by its class, the first two.
[[nodiscard]] Classification classify_sqlstate(std::string_view sqlstate) noexcept;

/// A CURLcode. 7 (CURLE_COULDNT_CONNECT) is CONNECT_FAILED; classify_errno knows more, given CURLINFO_OS_ERRNO. 28
/// (CURLE_OPERATION_TIMEDOUT) is RESPONSE_TIMEOUT; only the caller knows whether there was a connection.
[[nodiscard]] Classification classify_curl(int code) noexcept;

/// This system's errno. ETIMEDOUT is RESPONSE_TIMEOUT; only the caller knows whether there was a connection.
[[nodiscard]] Classification classify_errno(int number) noexcept;

/// gRPC's status code, by its number or its name: 14, "14", "UNAVAILABLE" or "Unavailable".
[[nodiscard]] Classification classify_grpc(int code, const GrpcResponse& response = {}) noexcept;
[[nodiscard]] Classification classify_grpc(std::string_view code, const GrpcResponse& response = {}) noexcept;

/// AWS's error code as the service sends it: `ThrottlingException`, `AWS.SimpleQueueService.MessageNotInflight`,
/// `com.amazonaws.dynamodb.v20120810#ThrottlingException`, `ValidationError:http://…`. The response's headers give the
/// wait.
[[nodiscard]] Classification classify_aws(std::string_view code, const HttpHeaders& headers = {}) noexcept;

/// Azure's error code, failure reason or AMQP condition: `ServerBusy`, `MessageLockLost`,
/// `com.microsoft:message-lock-lost`. The response's headers give the wait.
[[nodiscard]] Classification classify_azure(std::string_view code, const HttpHeaders& headers = {}) noexcept;

/// MongoDB's error code, 0 if there is none, and the error's labels. An error that the code or a label makes
/// retryable is throttled if it has the label SystemOverloadedError too; that label alone makes nothing retryable. A
/// code that is not listed is MONGODB_OTHER, transient, if no label says more.
[[nodiscard]] Classification classify_mongodb(int code, std::span<const std::string_view> labels = {}) noexcept;
[[nodiscard]] Classification classify_mongodb(int code, std::initializer_list<std::string_view> labels) noexcept;

/// A Redis error reply, with or without its leading minus: `-LOADING Redis is loading the dataset in memory`. The kind
/// is its first word; `ERR` alone says nothing. A kind that is not listed is REDIS_OTHER, transient.
[[nodiscard]] Classification classify_redis(std::string_view error_line) noexcept;

/// A name of the base set (`RateLimitExceeded`, `ValidationError`, …) or an error code of any table (`HTTP_503`).
[[nodiscard]] Classification classify_name(std::string_view name) noexcept;

/// The built-in tables, and rows of your own, which take precedence.
///
///   const dogged::Classifier classifier = dogged::Classifier{}
///       .set(dogged::CodeSource::http, 409, {.category = dogged::Category::transient})
///       .set(dogged::CodeSource::aws, "KMSInternalException", {.category = dogged::Category::transient});
///
/// A value: copies are independent. const members are thread-safe; set is not, and invalidates `reason` of earlier
/// classifications.
class Classifier {
 public:
  struct Row {
    Category category = Category::unknown;
    /// Empty: the code that the error has without this row.
    std::string_view code = {};
    /// 0 to 24 h. A wait that the source itself asks for (Retry-After, RetryInfo) takes precedence.
    std::optional<milliseconds> retry_after = {};
    std::string_view reason = {};
  };

  /// Adds a row, or replaces a row of the tables or an earlier one. By number for http (100 to 599), curl,
  /// errno_number, grpc and mongodb. By name for all but http. A name is an SQLSTATE or its class of two characters, or
  /// a name of the table (`CURLE_AGAIN`, `ECONNRESET`). For MongoDB a name is a label, for Redis a kind or a whole
  /// line.
  /// Throws InvalidInput for a number or a name that the source cannot have. Throws InvalidInput for a name that is
  /// never looked up (gRPC's "14": give the number). Throws InvalidInput also for a text that is no code, and for a
  /// retry_after out of its limits.
  Classifier& set(CodeSource source, int number, const Row& row);
  Classifier& set(CodeSource source, std::string_view name, const Row& row);

  // As the functions above.
  [[nodiscard]] Classification http(int status, const HttpHeaders& headers = {}) const noexcept;
  [[nodiscard]] Classification sqlstate(std::string_view sqlstate) const noexcept;
  [[nodiscard]] Classification curl(int code) const noexcept;
  [[nodiscard]] Classification errno_number(int number) const noexcept;
  [[nodiscard]] Classification grpc(int code, const GrpcResponse& response = {}) const noexcept;
  [[nodiscard]] Classification grpc(std::string_view code, const GrpcResponse& response = {}) const noexcept;
  [[nodiscard]] Classification aws(std::string_view code, const HttpHeaders& headers = {}) const noexcept;
  [[nodiscard]] Classification azure(std::string_view code, const HttpHeaders& headers = {}) const noexcept;
  [[nodiscard]] Classification mongodb(int code, std::span<const std::string_view> labels = {}) const noexcept;
  [[nodiscard]] Classification mongodb(int code, std::initializer_list<std::string_view> labels) const noexcept;
  [[nodiscard]] Classification redis(std::string_view error_line) const noexcept;
  [[nodiscard]] Classification name(std::string_view name) const noexcept;

 private:
  struct OwnRow {
    CodeSource source;
    ErrorCode key;  // the code that is made of the source's number or name
    Category category;
    ErrorCode code;
    std::optional<milliseconds> retry_after;
    std::string reason;
  };
  struct Wanted;

  Classifier& set(const Wanted& wanted, const Row& row);
  [[nodiscard]] const OwnRow* find_own(CodeSource source, const ErrorCode& key) const noexcept;
  [[nodiscard]] std::optional<Classification> find(const Wanted& wanted) const noexcept;
  [[nodiscard]] Classification find_or_unknown(const Wanted& wanted) const noexcept;
  [[nodiscard]] Classification find_or_other(const Wanted& wanted) const noexcept;
  [[nodiscard]] Classification find_class_of(const Wanted& error, const Wanted& its_class) const noexcept;
  [[nodiscard]] Classification http_status(int status) const noexcept;
  [[nodiscard]] Classification with_wait_of(const GrpcResponse& response, Classification failure) const noexcept;

  std::vector<OwnRow> rows_;
};

}  // namespace dogged
