// A world for retries in which time passes only by waiting, and the draw is the middle of the range.
#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

#include <dogged/retry_options.hpp>

namespace retry_world {

using dogged::RetryOptions;

struct World {
  std::chrono::steady_clock::time_point now{};
  std::vector<std::chrono::milliseconds> waits = {};
  std::stop_source stop = {};

  /// For as long as the world lives.
  RetryOptions options() {
    RetryOptions options;
    options.stop = stop.get_token();
    options.wait = [this](std::chrono::nanoseconds duration, const std::stop_token&) {
      waits.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(duration));
      now += duration;
      return true;
    };
    options.now = [this] { return now; };
    options.draw = [] { return 0.5; };
    return options;
  }
};

}  // namespace retry_world
