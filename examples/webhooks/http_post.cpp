// libcurl's easy interface, one handle a thread.
#include "http_post.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <dogged/classification.hpp>

namespace webhooks {
namespace {

/// CONNECT_REFUSED, CONNECT_TIMEOUT or CONNECT_FAILED, whatever else errno may have been left at.
std::string code_of_failed_connect(int os_errno) {
  if (os_errno == ETIMEDOUT) return "CONNECT_TIMEOUT";  // there was no connection yet
  const dogged::Classification cause = dogged::classify_errno(os_errno);
  return cause.code.view().starts_with("CONNECT_") ? cause.code.str() : "CONNECT_FAILED";
}

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Transfer = std::unique_ptr<CURL, decltype(&curl_easy_reset)>;

// A transfer resets its handle at the end, which forgets every pointer that it was given and keeps the
// connections.
Transfer begin_transfer() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);  // once: a static is thread-safe
  if (initialised != CURLE_OK) {
    throw std::runtime_error{std::string{"libcurl cannot be initialised: "} + curl_easy_strerror(initialised)};
  }
  thread_local const Handle handle{curl_easy_init(), &curl_easy_cleanup};
  if (!handle) throw std::runtime_error{"libcurl cannot make a handle: out of memory"};
  return {handle.get(), &curl_easy_reset};
}

template <class Value>
void set(CURL* curl, CURLoption option, Value value) {
  const CURLcode result = curl_easy_setopt(curl, option, value);
  if (result != CURLE_OK) {
    throw std::runtime_error{"libcurl refuses option " + std::to_string(option) + ": " + curl_easy_strerror(result)};
  }
}

template <class Value>
Value info(CURL* curl, CURLINFO which) {
  Value value{};
  curl_easy_getinfo(curl, which, &value);
  return value;
}

using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

HeaderList request_headers(const PostRequest& request) {
  HeaderList headers{nullptr, &curl_slist_free_all};
  for (const std::string& line :
       {std::string{"Content-Type: application/json"}, "Idempotency-Key: " + request.idempotency_key}) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc{};
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
  return headers;
}

// CURLOPT_WRITEFUNCTION: keeps what fits. Taking less than was offered ends the transfer, so that an endless
// body cannot hold a worker's thread.
std::size_t keep_body(char* data, std::size_t /*always 1*/, std::size_t size, void* kept) {
  PostResult& result = *static_cast<PostResult*>(kept);
  const std::size_t fits = std::min(size, response_body_bytes_max - result.body.size());
  result.body.append(data, fits);
  result.body_truncated = fits < size;
  return fits;
}

// CURLOPT_XFERINFOFUNCTION: asked at least once a second.
int must_abort(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

long whole_ms(std::chrono::milliseconds timeout) {
  return static_cast<long>(std::max<std::chrono::milliseconds::rep>(timeout.count(), 1));  // 0 would mean for ever
}

void set_request(CURL* curl, const PostRequest& request, curl_slist* headers) {
  set(curl, CURLOPT_URL, request.url.c_str());
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_DEFAULT_PROTOCOL, "missing");  // else "host/path" would be taken for http://host/path
  set(curl, CURLOPT_PROXY, "");                    // the environment's proxies would hide the receiver's errors
  set(curl, CURLOPT_POSTFIELDS, request.json.c_str());
  set(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.json.size()));
  set(curl, CURLOPT_HTTPHEADER, headers);
  // A connection that is used again may turn out broken, and libcurl would send the POST once more by itself: two
  // deliveries in one attempt.
  set(curl, CURLOPT_FRESH_CONNECT, 1L);
  set(curl, CURLOPT_FORBID_REUSE, 1L);
  set(curl, CURLOPT_USERAGENT, "dogged-webhooks/1");
  set(curl, CURLOPT_CONNECTTIMEOUT_MS, whole_ms(request.connect_timeout));
  set(curl, CURLOPT_TIMEOUT_MS, whole_ms(request.timeout));
  set(curl, CURLOPT_NOSIGNAL, 1L);  // timeouts without SIGALRM: this is one thread of many
}

std::optional<std::string> response_header(CURL* curl, const char* name) {
  curl_header* header = nullptr;
  if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return std::nullopt;
  return header->value;
}

TransferEnd perform(CURL* curl, const PostResult& result) {
  TransferEnd end;
  end.result = curl_easy_perform(curl);
  // We cut the body ourselves: the answer counts by its status.
  if (end.result == CURLE_WRITE_ERROR && result.body_truncated) end.result = CURLE_OK;
  end.os_errno = static_cast<int>(info<long>(curl, CURLINFO_OS_ERRNO));
  end.request_started = info<curl_off_t>(curl, CURLINFO_PRETRANSFER_TIME_T) > 0;
  end.status = static_cast<int>(info<long>(curl, CURLINFO_RESPONSE_CODE));
  return end;
}

std::string describe(const TransferEnd& end, const char* error_buffer) {
  if (end.result == CURLE_OK) return "the receiver answered " + std::to_string(end.status);
  return *error_buffer != '\0' ? error_buffer : curl_easy_strerror(end.result);
}

}  // namespace

std::string error_code(const TransferEnd& end) {
  if (end.result == CURLE_OK) {
    return end.status >= 200 && end.status <= 299 ? "" : "HTTP_" + std::to_string(end.status);
  }
  if (end.result == CURLE_COULDNT_CONNECT) return code_of_failed_connect(end.os_errno);
  if (end.result == CURLE_ABORTED_BY_CALLBACK) return "DELIVERY_ABORTED";
  if (end.result == CURLE_OPERATION_TIMEDOUT) {
    return end.request_started ? "RESPONSE_TIMEOUT" : "CONNECT_TIMEOUT";
  }
  if (end.result == CURLE_UNSUPPORTED_PROTOCOL) {  // also said of an answer that does not begin with "HTTP/"
    return end.request_started ? "BAD_RESPONSE" : "INVALID_URL";
  }
  return dogged::classify_curl(end.result).code.str();
}

PostResult post_json(const PostRequest& request, const std::stop_token& stop) {
  PostResult result;
  std::array<char, CURL_ERROR_SIZE> error_buffer{};
  const HeaderList headers = request_headers(request);
  const Transfer transfer = begin_transfer();  // destroyed before the objects that it points to
  CURL* const curl = transfer.get();

  set_request(curl, request, headers.get());
  set(curl, CURLOPT_ERRORBUFFER, error_buffer.data());
  set(curl, CURLOPT_WRITEFUNCTION, &keep_body);
  set(curl, CURLOPT_WRITEDATA, static_cast<void*>(&result));
  set(curl, CURLOPT_XFERINFOFUNCTION, &must_abort);
  set(curl, CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&stop)));  // only read
  set(curl, CURLOPT_NOPROGRESS, 0L);

  const TransferEnd end = perform(curl, result);
  result.status = end.status;
  result.error_code = error_code(end);
  if (!result.error_code.empty()) result.error_message = describe(end, error_buffer.data());
  result.retry_after = response_header(curl, "Retry-After");
  result.date = response_header(curl, "Date");
  result.duration = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::microseconds{info<curl_off_t>(curl, CURLINFO_TOTAL_TIME_T)});
  return result;
}

}  // namespace webhooks
