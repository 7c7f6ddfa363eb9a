// Lists of error codes for auto_retry_for, made of the tables that <dogged/classification.hpp> classifies by:
//
//   .auto_retry_for = dogged::codes::http_retryable + dogged::codes::connect_transient
//
// `…_transient` has the codes for which a retry may help, `…_throttled` those for which a later retry helps, and
// `…_retryable` both. An error has a code of a list if, and only if, it is classified that way. A sum of lists must
// have at most 64 codes, which TASK_REGISTER checks.
#pragma once

#include <dogged/codes.hpp>
#include <dogged/detail/classification_tables.hpp>

namespace dogged {

namespace detail {

/// The codes of a table's rows of one category, each once.
constexpr ErrorCodes codes_of(const CodeTable& table, Category category) noexcept {
  ErrorCodes codes;
  for (const CodeRow& row : table.rows) {
    if (row.category == category) codes.add(row.code);
  }
  return codes;
}

}  // namespace detail

namespace codes {

// The base set: TEMPORARY_SERVICE_UNAVAILABLE, NETWORK_TIMEOUT, …; RATE_LIMIT_EXCEEDED, PROVIDER_THROTTLING.
inline constexpr ErrorCodes base_transient = detail::codes_of(detail::tables::base, Category::transient);
inline constexpr ErrorCodes base_throttled = detail::codes_of(detail::tables::base, Category::throttled);
inline constexpr ErrorCodes base_retryable = base_transient + base_throttled;

// CONNECT_REFUSED, CONNECTION_RESET, …: failures of connections that libcurl and errno share.
inline constexpr ErrorCodes connect_transient = detail::codes_of(detail::tables::connection, Category::transient);

// HTTP_503, …; HTTP_429.
inline constexpr ErrorCodes http_transient = detail::codes_of(detail::tables::http, Category::transient);
inline constexpr ErrorCodes http_throttled = detail::codes_of(detail::tables::http, Category::throttled);
inline constexpr ErrorCodes http_retryable = http_transient + http_throttled;

// PG_40001, …
inline constexpr ErrorCodes sqlstate_transient = detail::codes_of(detail::tables::sqlstate, Category::transient);

// CURL_89, … and codes of connect_transient.
inline constexpr ErrorCodes curl_transient = detail::codes_of(detail::tables::curl, Category::transient);

// ERRNO_EAGAIN, … and codes of connect_transient.
inline constexpr ErrorCodes errno_transient = detail::codes_of(detail::tables::errno_numbers, Category::transient);

// GRPC_UNAVAILABLE, …; GRPC_RESOURCE_EXHAUSTED.
inline constexpr ErrorCodes grpc_transient = detail::codes_of(detail::tables::grpc, Category::transient);
inline constexpr ErrorCodes grpc_throttled = detail::codes_of(detail::tables::grpc, Category::throttled);
inline constexpr ErrorCodes grpc_retryable = grpc_transient + grpc_throttled;

// AWS_SERVICE_UNAVAILABLE, …; AWS_THROTTLING_EXCEPTION, …
inline constexpr ErrorCodes aws_transient = detail::codes_of(detail::tables::aws, Category::transient);
inline constexpr ErrorCodes aws_throttled = detail::codes_of(detail::tables::aws, Category::throttled);
inline constexpr ErrorCodes aws_retryable = aws_transient + aws_throttled;

// AZURE_MESSAGE_LOCK_LOST, …; AZURE_SERVER_BUSY, …
inline constexpr ErrorCodes azure_transient = detail::codes_of(detail::tables::azure, Category::transient);
inline constexpr ErrorCodes azure_throttled = detail::codes_of(detail::tables::azure, Category::throttled);
inline constexpr ErrorCodes azure_retryable = azure_transient + azure_throttled;

// MONGODB_NOT_WRITABLE_PRIMARY, …; MONGODB_SYSTEM_OVERLOADED_ERROR, …
inline constexpr ErrorCodes mongodb_transient = detail::codes_of(detail::tables::mongodb, Category::transient);
inline constexpr ErrorCodes mongodb_throttled = detail::codes_of(detail::tables::mongodb, Category::throttled);
inline constexpr ErrorCodes mongodb_retryable = mongodb_transient + mongodb_throttled;

// REDIS_LOADING, …
inline constexpr ErrorCodes redis_transient = detail::codes_of(detail::tables::redis, Category::transient);

}  // namespace codes
}  // namespace dogged
