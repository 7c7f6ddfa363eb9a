// See otlp_post.hpp.
#include "trace/otlp_post.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <utility>

#include <curl/curl.h>

#include <dogged/error.hpp>
#include <dogged/retry_after.hpp>

namespace dogged::runtime {
namespace {

constexpr std::size_t most_bytes_of_answer = 64 * 1024;

using CurlHeaders = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;
using CurlHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

void require_curl(CURLcode result, const char* what) {
  if (result == CURLE_OK) return;
  throw Error(std::string{"traces: libcurl cannot "} + what + ": " + curl_easy_strerror(result));
}

CurlHandle make_curl() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);  // once: a static is thread-safe
  require_curl(initialised, "be initialised");
  CurlHandle handle{curl_easy_init(), &curl_easy_cleanup};
  if (!handle) throw std::bad_alloc{};
  return handle;
}

template <class Value>
void set_option(CURL* curl, CURLoption option, Value value) {
  require_curl(curl_easy_setopt(curl, option, value), "take an option");
}

CurlHeaders headers_of(const OtlpSettings& settings) {
  // Without the empty Expect a large request would wait for a word of the collector first.
  std::vector<std::string> lines{"Content-Type: application/json", "Expect:"};
  for (const auto& [name, value] : settings.headers) lines.push_back(name + ": " + value);
  CurlHeaders headers{nullptr, &curl_slist_free_all};
  for (const std::string& line : lines) {
    curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc{};
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
  return headers;
}

// CURLOPT_WRITEFUNCTION: what does not fit is read and forgotten, so that the connection stays of use.
std::size_t keep_answer(char* data, std::size_t /*always 1*/, std::size_t size, void* kept) {
  std::string& body = *static_cast<std::string*>(kept);
  body.append(data, std::min(size, most_bytes_of_answer - body.size()));
  return size;
}

// CURLOPT_XFERINFOFUNCTION
int ask_whether_to_abort(void* must_abort, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const std::function<bool()>*>(must_abort))() ? 1 : 0;
}

std::string header_of(CURL* curl, const char* name) {
  curl_header* header = nullptr;
  return curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value : "";
}

}  // namespace

class OtlpPost::Impl {
 public:
  explicit Impl(const OtlpSettings& settings) : headers_(headers_of(settings)) {
    CURL* const curl = curl_.get();
    set_option(curl, CURLOPT_URL, settings.url.c_str());
    set_option(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    set_option(curl, CURLOPT_HTTPHEADER, headers_.get());
    set_option(curl, CURLOPT_USERAGENT, "dogged/" DOGGED_VERSION);
    if (!settings.certificate.empty()) set_option(curl, CURLOPT_CAINFO, settings.certificate.c_str());
    set_option(curl, CURLOPT_NOSIGNAL, 1L);  // timeouts without SIGALRM: this is one thread of many
    set_option(curl, CURLOPT_NOPROGRESS, 0L);
    set_option(curl, CURLOPT_XFERINFOFUNCTION, &ask_whether_to_abort);
    set_option(curl, CURLOPT_WRITEFUNCTION, &keep_answer);
    set_option(curl, CURLOPT_ERRORBUFFER, error_buffer_.data());
  }

  Answer send(const std::string& json, milliseconds timeout, const std::function<bool()>& must_abort) {
    Answer answer;
    CURL* const curl = curl_.get();
    error_buffer_.front() = '\0';
    set_option(curl, CURLOPT_POSTFIELDS, json.c_str());
    set_option(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
    set_option(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<milliseconds::rep>(timeout.count(), 1)));
    set_option(curl, CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&must_abort)));  // only read
    set_option(curl, CURLOPT_WRITEDATA, static_cast<void*>(&answer.body));
    const CURLcode result = curl_easy_perform(curl);
    if (result != CURLE_OK) {
      answer.error = error_buffer_.front() != '\0' ? error_buffer_.data() : curl_easy_strerror(result);
      return answer;
    }
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    const auto wait =
        parse_retry_after(header_of(curl, "Retry-After"), header_of(curl, "Date"), std::chrono::system_clock::now());
    if (wait) answer.retry_after = *wait;
    return answer;
  }

 private:
  const CurlHeaders headers_;
  std::array<char, CURL_ERROR_SIZE> error_buffer_{};
  const CurlHandle curl_ = make_curl();  // destroyed before what it points to
};

OtlpPost::OtlpPost(const OtlpSettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
OtlpPost::~OtlpPost() = default;

OtlpPost::Answer OtlpPost::send(const std::string& json, milliseconds timeout,
                                const std::function<bool()>& must_abort) {
  return impl_->send(json, timeout, must_abort);
}

}  // namespace dogged::runtime
