// How long the segments of a run take.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <optional>
#include <vector>

namespace nvfuser {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Adds up the time of each segment that runs on this thread while this is alive. On CUDA the
/// device is waited for around each segment. Clocks nest; the innermost one counts.
class SegmentClock {
 public:
  SegmentClock(size_t segments, at::Device device);
  ~SegmentClock();
  SegmentClock(const SegmentClock&) = delete;
  SegmentClock& operator=(const SegmentClock&) = delete;

  /// nullptr: nobody asks.
  static SegmentClock* active();

  /// By the number of the segment.
  const std::vector<double>& seconds() const {
    return seconds_;
  }

 private:
  friend class SegmentTimer;
  void wait() const noexcept;
  void add(int segment, double seconds);

  std::vector<double> seconds_;
  at::Device device_;
  SegmentClock* previous_;
};

/// Times a part of a segment; does nothing without a clock or segment.
class SegmentTimer {
 public:
  SegmentTimer(SegmentClock* clock, int segment)
      : clock_(segment < 0 ? nullptr : clock), segment_(segment) {
    if (clock_ != nullptr) {
      clock_->wait();
      watch_.emplace();
    }
  }
  ~SegmentTimer() {
    if (clock_ != nullptr) {
      clock_->wait();
      clock_->add(segment_, watch_->seconds());
    }
  }
  SegmentTimer(const SegmentTimer&) = delete;
  SegmentTimer& operator=(const SegmentTimer&) = delete;

 private:
  SegmentClock* clock_;
  int segment_;
  std::optional<Stopwatch> watch_;
};

} // namespace nvfuser
