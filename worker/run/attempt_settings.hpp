// The settings that all attempts of a worker share. The parts that handlers use are only declared here. common.hpp
// holds these settings, and a change of such a part must not compile anew each file that includes common.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace dogged {

class EnqueueMiddleware;
class Tracer;

}  // namespace dogged

namespace dogged::runtime {

class HandlerSession;
class KeeperInbox;
class Steps;

struct AttemptLimits {
  std::size_t max_result_bytes = 1048576;
  std::size_t max_error_message_bytes = 65536;
};

/// The settings that all attempts of a worker share.
struct AttemptSettings {
  std::int64_t worker_id = 0;
  std::string database_url = {};
  std::string schema = {};
  AttemptLimits limits = {};
  std::string installation = {};                    ///< of the queue, for tasks that handlers enqueue
  std::string worker = {};                          ///< the worker's name
  std::shared_ptr<Tracer> tracer = {};              ///< null: none
  std::shared_ptr<EnqueueMiddleware> tracing = {};  ///< of what handlers enqueue: trace_enqueues(tracer); null: none
  std::shared_ptr<HandlerSession> database = {};
  std::shared_ptr<Steps> steps = {};
  std::shared_ptr<KeeperInbox> progress = {};
};

}  // namespace dogged::runtime
