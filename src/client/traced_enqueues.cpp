// trace_enqueues: the producer's span goes with the tasks.
#include <string>
#include <utility>
#include <vector>

#include <dogged/tracer.hpp>

namespace dogged {
namespace {

class TracedEnqueues final : public EnqueueMiddleware {
 public:
  explicit TracedEnqueues(std::shared_ptr<Tracer> tracer) : tracer_(std::move(tracer)) {}

  void before(std::vector<NewTask>& tasks) override {
    const std::optional<TraceContext> current = tracer_->current();
    if (!current) return;
    const std::string text = current->to_text();
    for (NewTask& task : tasks) {
      if (task.options.trace_context.empty()) task.options.trace_context = text;
    }
  }

 private:
  const std::shared_ptr<Tracer> tracer_;
};

}  // namespace

std::shared_ptr<EnqueueMiddleware> trace_enqueues(std::shared_ptr<Tracer> tracer) {
  if (!tracer) throw InvalidInput("trace_enqueues got no tracer", "give it one, or leave the middleware out");
  return std::make_shared<TracedEnqueues>(std::move(tracer));
}

}  // namespace dogged
