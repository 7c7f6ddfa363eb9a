// A listener of an executor that counts the reports.
#pragma once

#include <atomic>
#include <exception>

#include "run/executor.hpp"

namespace dogged::test {

class CountingListener final : public runtime::Executor::Listener {
 public:
  std::atomic<int> reports{0};

  void on_report(runtime::Report&& /*report*/) override { ++reports; }
  void on_deadline(runtime::SteadyClock::time_point /*deadline*/) override {}
  void on_expired() override {}
  void on_defect(std::exception_ptr /*error*/) override {}
};

}  // namespace dogged::test
