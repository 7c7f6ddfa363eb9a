// One HTTP POST of a JSON document with libcurl, and the error code that each way to fail is given.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>

#include <curl/curl.h>

namespace webhooks {

/// As much of a response's body is kept for error details; the transfer ends where a body is longer.
inline constexpr std::size_t response_body_bytes_max = 2048;

struct PostRequest {
  std::string url;              ///< http:// or https://; redirects are not followed, proxies are not used
  std::string json;             ///< the body
  std::string idempotency_key;  ///< the same for each attempt of a delivery, so that receivers can drop repeats
  std::chrono::milliseconds connect_timeout{5'000};  ///< name lookup, TCP and TLS; at least 1 ms
  std::chrono::milliseconds timeout{30'000};         ///< the whole exchange; at least 1 ms
};

struct PostResult {
  std::string error_code;     ///< empty: a 2xx answer; else a code of the table at `error_code()`
  std::string error_message;  ///< for people; empty after a 2xx answer
  int status = 0;             ///< HTTP status; 0: there was no answer
  std::string body;           ///< its first `response_body_bytes_max` bytes
  bool body_truncated = false;
  std::optional<std::string> retry_after = {};  ///< the response's Retry-After
  std::optional<std::string> date = {};         ///< the response's Date
  std::chrono::milliseconds duration{0};
};

/// POSTs, and returns however it ended. A requested stop aborts the exchange within about a second, the
/// interval at which libcurl asks. Thread-safe: each thread has a handle of its own, which keeps connections
/// alive between calls. Throws std::runtime_error where libcurl cannot be set up (no memory, no TLS support).
[[nodiscard]] PostResult post_json(const PostRequest& request, const std::stop_token& stop);

/// How a transfer ended, as far as its error code depends on it.
struct TransferEnd {
  CURLcode result = CURLE_OK;
  int os_errno = 0;              ///< CURLINFO_OS_ERRNO
  bool request_started = false;  ///< connected, TLS included: the request was begun
  int status = 0;                ///< HTTP status, 0 if there was none
};

/// The code of a failed transfer, empty for a 2xx answer:
///
///   HTTP_<status>      an answer that is not 2xx: HTTP_404, HTTP_503
///   INVALID_URL        not a URL, or neither http:// nor https://
///   DNS_FAILURE        the host's name has no address
///   CONNECT_REFUSED    no server listens on the port
///   CONNECT_TIMEOUT    no connection in time, TLS handshake included
///   CONNECT_FAILED     no connection for another reason: no route, network down
///   TLS_ERROR          handshake failed or certificate not trusted
///   RESPONSE_TIMEOUT   connected, but no complete answer in time: the receiver may have acted on the request
///   CONNECTION_RESET   the connection ended before the answer did: likewise
///   BAD_RESPONSE       what came back is not HTTP
///   DELIVERY_ABORTED   a stop was requested
///   CURL_<number>      any other libcurl error (dogged::classify_curl, which names one more: OUT_OF_MEMORY)
[[nodiscard]] std::string error_code(const TransferEnd& end);

}  // namespace webhooks
