// A histogram of durations that many threads count in, with an exemplar for each bucket.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <optional>

#include <dogged/detail/mutex.hpp>
#include <dogged/retry_metrics.hpp>
#include <dogged/trace_context.hpp>

namespace dogged {

/// An exemplar stays for so long: then the next attempt of its bucket takes its place. So a busy worker looks at a
/// clock for each attempt, and locks once a second.
inline constexpr std::chrono::seconds exemplar_stays{1};

/// The latest attempts of the buckets that have a trace.
template <std::size_t BucketCount>
class Exemplars {
 public:
  using All = std::array<std::optional<Exemplar>, BucketCount>;

  void note(std::size_t bucket, double seconds, const TraceContext& trace,
            std::chrono::system_clock::time_point at) noexcept {
    const auto now = at.time_since_epoch().count();
    if (now < stays_until_[bucket].load(std::memory_order_relaxed)) return;
    const detail::Lock lock{mutex_};
    stays_until_[bucket].store((at + exemplar_stays).time_since_epoch().count(), std::memory_order_relaxed);
    latest_[bucket] = {trace.trace_id, trace.span_id, seconds, at};
  }

  [[nodiscard]] All read() const {
    const detail::Lock lock{mutex_};
    return latest_;
  }

 private:
  std::array<std::atomic<std::chrono::system_clock::rep>, BucketCount> stays_until_{};
  mutable detail::Mutex mutex_;
  All latest_ DOGGED_GUARDED_BY(mutex_){};
};

/// Its buckets end at Bounds, and at infinity. Counting allocates nothing, except for the first traced attempt.
template <const auto& Bounds>
class DurationCounts {
 public:
  static constexpr std::size_t bucket_count = std::size(Bounds) + 1;

  /// The counts so far. Each count is that of its bucket alone.
  struct Read {
    std::array<std::uint64_t, bucket_count> counts{};
    std::chrono::microseconds sum{0};
    typename Exemplars<bucket_count>::All exemplars{};

    [[nodiscard]] std::uint64_t count() const {
      std::uint64_t all = 0;
      for (const std::uint64_t each : counts) all += each;
      return all;
    }
    /// Of two exemplars of a bucket the later one counts.
    Read& operator+=(const Read& other) {
      for (std::size_t i = 0; i < bucket_count; ++i) {
        counts[i] += other.counts[i];
        const auto& theirs = other.exemplars[i];
        if (theirs && (!exemplars[i] || exemplars[i]->at < theirs->at)) exemplars[i] = theirs;
      }
      sum += other.sum;
      return *this;
    }
  };

  DurationCounts() = default;
  ~DurationCounts() { delete exemplars_.load(); }
  DurationCounts(const DurationCounts&) = delete;
  DurationCounts& operator=(const DurationCounts&) = delete;

  /// A negative duration counts as 0. `trace`: of what took so long; null, or not sampled: it makes no exemplar.
  void add(std::chrono::nanoseconds duration, const TraceContext* trace = nullptr) noexcept {
    if (trace == nullptr || !trace->sampled) {
      static_cast<void>(count(duration));
    } else {
      add(duration, *trace, std::chrono::system_clock::now());
    }
  }
  void add(std::chrono::nanoseconds duration, const TraceContext& trace,
           std::chrono::system_clock::time_point at) noexcept {
    const std::size_t bucket = count(duration);
    if (Exemplars<bucket_count>* const exemplars = exemplars_or_none()) {
      exemplars->note(bucket, std::chrono::duration<double>{duration}.count(), trace, at);
    }
  }

  [[nodiscard]] Read read() const {
    Read read;
    std::transform(counts_.begin(), counts_.end(), read.counts.begin(),
                   [](const auto& count) { return count.load(std::memory_order_relaxed); });
    read.sum = std::chrono::microseconds{sum_us_.load(std::memory_order_relaxed)};
    if (const auto* const exemplars = exemplars_.load(std::memory_order_acquire)) read.exemplars = exemplars->read();
    return read;
  }

 private:
  /// Gives the bucket.
  std::size_t count(std::chrono::nanoseconds duration) noexcept {
    const auto not_negative = std::max(duration, std::chrono::nanoseconds{0});
    const auto bucket =
        static_cast<std::size_t>(std::lower_bound(Bounds.begin(), Bounds.end(), not_negative) - Bounds.begin());
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_us_.fetch_add(std::chrono::duration_cast<std::chrono::microseconds>(not_negative).count(),
                      std::memory_order_relaxed);
    return bucket;
  }

  /// Makes them for the first attempt with a trace: most programs trace nothing. Null: there is no memory.
  Exemplars<bucket_count>* exemplars_or_none() noexcept {
    Exemplars<bucket_count>* there = exemplars_.load(std::memory_order_acquire);
    if (there != nullptr) return there;
    std::unique_ptr<Exemplars<bucket_count>> made{new (std::nothrow) Exemplars<bucket_count>};
    if (!made || !exemplars_.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return there;
    return made.release();
  }

  std::array<std::atomic<std::uint64_t>, bucket_count> counts_{};
  std::atomic<std::int64_t> sum_us_{0};
  std::atomic<Exemplars<bucket_count>*> exemplars_{nullptr};
};

}  // namespace dogged
