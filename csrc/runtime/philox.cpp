#include <runtime/philox.h>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace nvfuser {

namespace {

// The multipliers and key increments of the paper.
constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr double kTwoToMinus32 = 1.0 / 4294967296.0;
constexpr double kTwoToMinus52 = 1.0 / 4503599627370496.0;
constexpr double kTwoPi = 2.0 * std::numbers::pi;

// The largest value of T below `bound`, by stepping through the sign-magnitude encoding.
template <typename T, typename Bits>
double largestBelow(double bound) {
  T value(static_cast<float>(bound));
  while (static_cast<double>(static_cast<float>(value)) >= bound) {
    constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
    if ((value.x & ~kSign) == 0) {
      value.x = kSign + 1;
    } else if ((value.x & kSign) != 0) {
      value.x += 1;
    } else {
      value.x -= 1;
    }
  }
  return static_cast<float>(value);
}

double largestBelow(double bound, at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::nextafter(bound, -std::numeric_limits<double>::infinity());
    case at::kFloat: {
      const auto value = static_cast<float>(bound);
      return value >= bound ? std::nextafter(value, -std::numeric_limits<float>::infinity())
                            : value;
    }
    case at::kHalf:
      return largestBelow<at::Half, uint16_t>(bound);
    case at::kBFloat16:
      return largestBelow<at::BFloat16, uint16_t>(bound);
    case at::kFloat8_e4m3fn:
      return largestBelow<at::Float8_e4m3fn, uint8_t>(bound);
    case at::kFloat8_e5m2:
      return largestBelow<at::Float8_e5m2, uint8_t>(bound);
    default:
      NVF_CHECK(false, "random numbers of dtype ", c10::toString(dtype), " cannot be generated");
      return bound;
  }
}

double unitFromWord(uint32_t word) {
  return (word + 0.5) * kTwoToMinus32;
}

double unitFromWords(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 20) | (low >> 12);
  return (static_cast<double>(bits) + 0.5) * kTwoToMinus52;
}

// The numbers of one block: 4, or 2 when wide.
template <bool wide>
void standardNumbers(RngType type, const std::array<uint32_t, 4>& words, double* out) {
  constexpr int count = wide ? 2 : 4;
  for (int i = 0; i < count; ++i) {
    out[i] =
        wide ? unitFromWords(words[2 * i % 4], words[(2 * i + 1) % 4]) : unitFromWord(words[i]);
  }
  if (type == RngType::Normal) {
    for (int i = 0; i < count; i += 2) {
      const double radius = std::sqrt(-2.0 * std::log(out[i]));
      const double angle = kTwoPi * out[i + 1];
      out[i] = radius * std::sin(angle);
      out[i + 1] = radius * std::cos(angle);
    }
  }
}

template <typename T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return T(static_cast<float>(value));
  }
}

template <typename T>
void fillOnCpu(const RandomSpec& spec, at::Tensor& out, uint64_t seed, uint64_t offset) {
  constexpr bool wide = std::is_same_v<T, double>;
  constexpr int64_t width = wide ? 2 : 4;
  const RandomScale scale(spec);
  T* data = out.mutable_data_ptr<T>();
  const int64_t count = out.numel();
  const int64_t blocks = (count + width - 1) / width;
  at::parallel_for(0, blocks, 1024, [&](int64_t begin, int64_t end) {
    double numbers[width];
    for (int64_t block = begin; block < end; ++block) {
      const auto words = philox4x32(seed, static_cast<uint64_t>(block), offset);
      standardNumbers<wide>(spec.type, words, numbers);
      const int64_t first = block * width;
      for (int64_t i = 0; i < width && first + i < count; ++i) {
        data[first + i] = narrow<T>(scale(numbers[i]));
      }
    }
  });
}

// --- the same in tensor operations ---

constexpr int64_t kMask32 = 0xFFFFFFFF;

at::Tensor low32(const at::Tensor& x) {
  return at::bitwise_and(x, kMask32);
}

// The shift is arithmetic; the mask removes the sign's copies.
at::Tensor high32(const at::Tensor& x) {
  return low32(at::bitwise_right_shift(x, 32));
}

// [blocks, 4] words as Long: 32-bit products fit a 64-bit integer, whose wrap-around is harmless.
at::Tensor philoxWords(const at::Tensor& seed, const at::Tensor& block, uint64_t offset) {
  at::Tensor key0 = low32(seed);
  at::Tensor key1 = high32(seed);
  at::Tensor c0 = at::full_like(block, static_cast<int64_t>(offset & kMask32));
  at::Tensor c1 = at::full_like(block, static_cast<int64_t>(offset >> 32));
  at::Tensor c2 = low32(block);
  at::Tensor c3 = high32(block);
  for (int round = 0; round < kRounds; ++round) {
    const at::Tensor p0 = at::mul(c0, static_cast<int64_t>(kMultiplier0));
    const at::Tensor p1 = at::mul(c2, static_cast<int64_t>(kMultiplier1));
    c0 = high32(p1).bitwise_xor_(c1).bitwise_xor_(key0);
    c1 = low32(p1);
    c2 = high32(p0).bitwise_xor_(c3).bitwise_xor_(key1);
    c3 = low32(p0);
    key0 = low32(at::add(key0, static_cast<int64_t>(kWeyl0)));
    key1 = low32(at::add(key1, static_cast<int64_t>(kWeyl1)));
  }
  return at::stack({c0, c1, c2, c3}, 1);
}

// [blocks, width] numbers of the standard distribution as Double.
at::Tensor standardNumbers(RngType type, const at::Tensor& words, bool wide) {
  at::Tensor unit;
  if (wide) {
    const at::Tensor pairs = words.view({-1, 2, 2});
    const at::Tensor bits = at::bitwise_or(
        at::bitwise_left_shift(pairs.select(2, 0), 20),
        at::bitwise_right_shift(pairs.select(2, 1), 12));
    unit = bits.to(at::kDouble).add_(0.5).mul_(kTwoToMinus52);
  } else {
    unit = words.to(at::kDouble).add_(0.5).mul_(kTwoToMinus32);
  }
  if (type == RngType::Uniform) {
    return unit;
  }
  const at::Tensor pairs = unit.view({words.size(0), -1, 2});
  const at::Tensor radius = at::log(pairs.select(2, 0)).mul_(-2.0).sqrt_();
  const at::Tensor angle = at::mul(pairs.select(2, 1), kTwoPi);
  return at::stack({at::sin(angle).mul_(radius), at::cos(angle).mul_(radius)}, 2).flatten(1);
}

// --- the CPU generator's place ---

// Counts the words that a Mersenne twister has given since it was seeded. The twister makes 624
// words at a time; the state after each such block is remembered for one seed, up to a limit.
class TwisterPlace {
 public:
  // nullopt: further from the seed than the limit.
  std::optional<uint64_t> wordsDrawn(const at::mt19937_data_pod& state) {
    if (state.left_ == 1 && state.next_ == 0) {
      return 0; // seeded and not used yet
    }
    if (!seed_.has_value() || *seed_ != state.seed_) {
      seed_ = state.seed_;
      engine_ = at::mt19937(state.seed_);
      blocks_.clear();
    }
    const uint64_t wanted = fingerprint(state);
    auto it = blocks_.find(wanted);
    while (it == blocks_.end() && blocks_.size() < kMaxBlocks) {
      for (int word = 0; word < at::MERSENNE_STATE_N; ++word) {
        engine_();
      }
      const uint64_t made = fingerprint(engine_.data());
      const auto added = blocks_.emplace(made, blocks_.size()).first;
      it = made == wanted ? added : blocks_.end();
    }
    if (it == blocks_.end()) {
      return std::nullopt;
    }
    return it->second * at::MERSENNE_STATE_N + state.next_;
  }

 private:
  static constexpr size_t kMaxBlocks = 1024;

  static uint64_t fingerprint(const at::mt19937_data_pod& state) {
    return (static_cast<uint64_t>(state.state_[1]) << 32) | state.state_[2];
  }

  std::optional<uint64_t> seed_;
  at::mt19937 engine_;
  std::unordered_map<uint64_t, uint64_t> blocks_;
};

std::pair<uint64_t, uint64_t> nextCpuState(int64_t random_nodes) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  static TwisterPlace place; // guarded by the generator's mutex
  auto* impl = generator.get<at::CPUGeneratorImpl>();
  at::mt19937 engine = impl->engine();
  std::pair<uint64_t, uint64_t> state;
  if (const auto drawn = place.wordsDrawn(engine.data())) {
    state = {engine.seed(), 4 * *drawn};
    for (int64_t node = 0; node < random_nodes; ++node) {
      engine();
    }
  } else {
    const uint64_t high = engine();
    state = {(high << 32) | engine(), 0};
  }
  impl->set_engine(engine);
  return state;
}

} // namespace

RandomScale::RandomScale(const RandomSpec& spec)
    : start(spec.a), factor(spec.b), cap(std::numeric_limits<double>::infinity()) {
  // Also refuses the dtypes that cannot be generated.
  const double below = largestBelow(spec.b, spec.dtype);
  if (spec.type == RngType::Uniform) {
    factor = spec.b - spec.a;
    NVF_CHECK(
        spec.a <= spec.b && std::isfinite(factor),
        "uniform: the range must be finite and not reversed: [",
        spec.a,
        ", ",
        spec.b,
        ")");
    cap = spec.a < spec.b ? below : spec.b;
  }
}

std::array<uint32_t, 4> philox4x32(uint64_t seed, uint64_t block, uint64_t offset) {
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(seed >> 32);
  std::array<uint32_t, 4> c = {
      static_cast<uint32_t>(offset),
      static_cast<uint32_t>(offset >> 32),
      static_cast<uint32_t>(block),
      static_cast<uint32_t>(block >> 32)};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(kMultiplier0) * c[0];
    const uint64_t p1 = static_cast<uint64_t>(kMultiplier1) * c[2];
    c = {
        static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key0,
        static_cast<uint32_t>(p1),
        static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key1,
        static_cast<uint32_t>(p0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

std::pair<uint64_t, uint64_t> nextPhiloxState(at::Device device, int64_t random_nodes) {
  if (device.is_cpu()) {
    return nextCpuState(random_nodes);
  }
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  const uint64_t seed = generator.current_seed();
  const uint64_t offset = generator.get_offset();
  generator.set_offset(offset + 4 * static_cast<uint64_t>(random_nodes));
  return {seed, offset};
}

bool isCapturingGenerator(at::Device device) {
  if (!device.is_cuda()) {
    return false;
  }
  // torch refuses to tell the offset while the stream is captured: this way no CUDA header is
  // needed.
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  try {
    static_cast<void>(generator.get_offset());
    return false;
  } catch (const c10::Error& error) {
    if (std::string_view(error.what_without_backtrace()).find("captur") != std::string_view::npos) {
      return true;
    }
    throw;
  }
}

at::Tensor philoxTensor(
    const RandomSpec& spec,
    at::IntArrayRef sizes,
    at::Device device,
    uint64_t seed,
    uint64_t offset) {
  if (!device.is_cpu()) {
    return philoxTensor(
        spec,
        sizes,
        device,
        at::full({}, static_cast<int64_t>(seed), at::TensorOptions().dtype(at::kLong)),
        offset);
  }
  const auto options = at::TensorOptions().dtype(spec.dtype);
  at::Tensor out = at::empty(sizes, options);
  switch (spec.dtype) {
    case at::kDouble:
      fillOnCpu<double>(spec, out, seed, offset);
      break;
    case at::kFloat:
      fillOnCpu<float>(spec, out, seed, offset);
      break;
    case at::kHalf:
      fillOnCpu<at::Half>(spec, out, seed, offset);
      break;
    case at::kBFloat16:
      fillOnCpu<at::BFloat16>(spec, out, seed, offset);
      break;
    case at::kFloat8_e4m3fn:
      fillOnCpu<at::Float8_e4m3fn>(spec, out, seed, offset);
      break;
    case at::kFloat8_e5m2:
      fillOnCpu<at::Float8_e5m2>(spec, out, seed, offset);
      break;
    default:
      NVF_CHECK(
          false, "random numbers of dtype ", c10::toString(spec.dtype), " cannot be generated");
  }
  return out;
}

at::Tensor philoxTensor(
    const RandomSpec& spec,
    at::IntArrayRef sizes,
    at::Device device,
    const at::Tensor& seed,
    uint64_t offset) {
  const RandomScale scale(spec);
  const auto options = at::TensorOptions().device(device);
  at::Tensor out = at::empty(sizes, options.dtype(spec.dtype));
  at::Tensor flat = out.view({-1});
  const bool wide = spec.dtype == at::kDouble;
  const int64_t width = wide ? 2 : 4;
  const int64_t count = out.numel();
  // In pieces: the words take 32 bytes a block, and several copies of them are alive at a time.
  constexpr int64_t kPiece = int64_t{1} << 22;
  const int64_t blocks = (count + width - 1) / width;
  for (int64_t first = 0; first < blocks; first += kPiece) {
    const int64_t last = std::min(first + kPiece, blocks);
    const at::Tensor block = at::arange(first, last, options.dtype(at::kLong));
    at::Tensor numbers = standardNumbers(spec.type, philoxWords(seed, block, offset), wide);
    numbers.mul_(scale.factor).add_(scale.start);
    if (spec.type == RngType::Uniform) {
      numbers.clamp_max_(scale.cap);
    }
    const int64_t begin = first * width;
    const int64_t length = std::min(last * width, count) - begin;
    flat.narrow(0, begin, length).copy_(numbers.flatten().narrow(0, 0, length));
  }
  return out;
}

} // namespace nvfuser
