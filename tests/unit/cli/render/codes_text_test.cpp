// Error codes as people read them.
#include "cli/render/codes_text.hpp"

#include <dogged/code_sets.hpp>

#include "support/catch.hpp"

using namespace dogged;
using dogged::cli::codes_text;

namespace {

std::vector<std::string> listed(const ErrorCodes& codes) { return {codes.begin(), codes.end()}; }

std::string counted(const std::string& name, const ErrorCodes& codes) {
  return name + " (" + std::to_string(codes.size()) + " codes)";
}

}  // namespace

TEST_CASE("codes that are a list of code_sets.hpp are read by its name, and others by theirs") {
  CHECK(codes_text(listed(codes::http_retryable), false) == counted("http_retryable", codes::http_retryable));
  CHECK(codes_text(listed(ErrorCodes{"MY_CODE"} + codes::http_retryable), false) ==
        counted("http_retryable", codes::http_retryable) + ", MY_CODE");
  CHECK(codes_text({"HTTP_503", "MY_CODE"}, false) == "HTTP_503, MY_CODE");
  CHECK(codes_text({}, false).empty());
  CHECK(codes_text({"*"}, false) == "every error code (*)");
}

TEST_CASE("lists that share codes are both named") {
  const std::string text = codes_text(listed(codes::curl_transient + codes::errno_transient), false);
  CHECK(text.find(counted("curl_transient", codes::curl_transient)) != std::string::npos);
  CHECK(text.find(counted("errno_transient", codes::errno_transient)) != std::string::npos);
  CHECK(text.find("connect_transient") == std::string::npos);
}

TEST_CASE("in full, every code is there, in its order") {
  const std::string text = codes_text(listed(codes::grpc_retryable), true);
  CHECK(text.find("codes)") == std::string::npos);
  for (const std::string_view code : codes::grpc_retryable) CHECK(text.find(code) != std::string::npos);
}
