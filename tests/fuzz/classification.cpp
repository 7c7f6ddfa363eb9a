// Services' names and lines for their errors, which strangers write. The first line of the input is given to every
// function that takes text; the second is a number.
#include <dogged/classification.hpp>
#include <dogged/code_sets.hpp>

#include "fuzz.hpp"

using namespace dogged;

namespace {

bool is_listed(std::string_view code) {
  for (const ErrorCodes& list :
       {codes::base_retryable, codes::connect_transient, codes::http_retryable, codes::sqlstate_transient,
        codes::curl_transient, codes::errno_transient, codes::grpc_retryable, codes::aws_retryable,
        codes::azure_retryable, codes::mongodb_retryable, codes::redis_transient}) {
    if (list.contains(code)) return true;
  }
  return false;
}

void require_sound(const Classification& result, std::string_view prefix) {
  const std::string_view code = result.code.view();
  fuzz::require(detail::is_valid_error_code(code), "a code is a valid error code", code);
  fuzz::require(code.starts_with(prefix), "a code tells its source", code);
  fuzz::require(is_listed(code) == is_retryable(result.category), "a list has what is retryable and nothing else",
                code);
  fuzz::require(!result.reason.empty(), "a classification has a reason", code);
  fuzz::require(result.precision == Precision::exact || result.retry_after == provider_retry_after,
                "only the wait for a provider is not exact", code);
}

/// A code classifies as the name that it was made from.
void require_code_is_its_name(const Classification& result, std::string_view prefix) {
  const std::string_view name = result.code.view().substr(prefix.size());
  const Classification again = prefix == "AWS_" ? classify_aws(name) : classify_azure(name);
  fuzz::require(again == result, "an error is known by its code", name);
}

}  // namespace

FUZZ_TARGET(classification, input) {
  Lines lines{input};
  const std::string text = lines.text();
  const auto number = static_cast<int>(lines.number(-1'000'000'000, 1'000'000'000));

  require_sound(classify_sqlstate(text), "PG_");
  require_sound(classify_grpc(std::string_view{text}), "GRPC_");
  require_sound(classify_aws(text), "AWS_");
  require_sound(classify_azure(text), "AZURE_");
  require_sound(classify_mongodb(number, {std::string_view{text}}), "MONGODB_");
  require_sound(classify_redis(text), "REDIS_");
  require_sound(classify_name(text), "");
  require_sound(classify_http(number, {.retry_after = text}), "HTTP_");
  require_sound(classify_azure(text, {.retry_after_ms = text}), "AZURE_");
  require_sound(classify_grpc(number, {.retry_pushback_ms = text}), "GRPC_");
  require_sound(classify_curl(number), "");
  require_sound(classify_errno(number), "");
  require_sound(classify_grpc(number), "GRPC_");

  require_code_is_its_name(classify_aws(text), "AWS_");
  require_code_is_its_name(classify_azure(text), "AZURE_");
}
