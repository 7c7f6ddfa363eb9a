// See named_code_sets.hpp.
#include "retry/named_code_sets.hpp"

#include <dogged/code_sets.hpp>

namespace dogged {

const std::vector<NamedCodeSet>& named_code_sets() {
  static const std::vector<NamedCodeSet> sets{
      {"base_transient", codes::base_transient},       {"base_throttled", codes::base_throttled},
      {"base_retryable", codes::base_retryable},       {"connect_transient", codes::connect_transient},
      {"http_transient", codes::http_transient},       {"http_throttled", codes::http_throttled},
      {"http_retryable", codes::http_retryable},       {"sqlstate_transient", codes::sqlstate_transient},
      {"curl_transient", codes::curl_transient},       {"errno_transient", codes::errno_transient},
      {"grpc_transient", codes::grpc_transient},       {"grpc_throttled", codes::grpc_throttled},
      {"grpc_retryable", codes::grpc_retryable},       {"aws_transient", codes::aws_transient},
      {"aws_throttled", codes::aws_throttled},         {"aws_retryable", codes::aws_retryable},
      {"azure_transient", codes::azure_transient},     {"azure_throttled", codes::azure_throttled},
      {"azure_retryable", codes::azure_retryable},     {"mongodb_transient", codes::mongodb_transient},
      {"mongodb_throttled", codes::mongodb_throttled}, {"mongodb_retryable", codes::mongodb_retryable},
      {"redis_transient", codes::redis_transient},
  };
  return sets;
}

}  // namespace dogged
