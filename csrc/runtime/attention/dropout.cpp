#include <ir/exceptions.h>
#include <runtime/attention/dropout.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace nvfuser {

namespace {

double keepFactor(double p) {
  return p >= 1.0 ? 0.0 : 1.0 / (1.0 - p);
}

// Fills rows of S entries; row r is the r-th subsequence of the Philox stream.
template <typename T>
void fillRows(
    T* out,
    const std::vector<int64_t>& rows,
    int64_t keys,
    double p,
    uint64_t seed,
    uint64_t offset) {
  const auto threshold = static_cast<uint64_t>(std::llround(std::ldexp(p, 32)));
  const T keep = static_cast<T>(keepFactor(p));
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, keys));
  at::parallel_for(0, static_cast<int64_t>(rows.size()), grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      at::philox_engine engine(seed, static_cast<uint64_t>(rows[r]), offset);
      T* row = out + r * keys;
      for (int64_t j = 0; j < keys; ++j) {
        row[j] = engine() >= threshold ? keep : T(0);
      }
    }
  });
}

at::Tensor int64Scalar(uint64_t value) {
  return at::scalar_tensor(static_cast<int64_t>(value), at::TensorOptions().dtype(at::kLong));
}

uint64_t valueOf(const at::Tensor& scalar) {
  return static_cast<uint64_t>(scalar.item<int64_t>());
}

bool isVectorForm(const SdpaRngState& state) {
  return state.seed.dim() == 1;
}

} // namespace

DropoutMask::DropoutMask(double p, at::Device device, uint64_t seed, uint64_t offset)
    : p_(p), device_(device), seed_(seed), offset_(offset) {
  if (!device.is_cpu()) {
    generator_ = at::globalContext().defaultGenerator(device).clone();
    generator_.set_current_seed(seed);
    generator_.set_offset(offset);
  }
}

DropoutMask DropoutMask::draw(double p, at::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  std::lock_guard lock(generator.mutex());
  if (device.is_cpu()) {
    // 63 bits, so that the state fits the signed form of older releases too.
    const uint64_t seed = at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
    return DropoutMask(p, device, seed & std::numeric_limits<int64_t>::max(), 0);
  }
  return DropoutMask(p, device, generator.current_seed(), generator.get_offset());
}

DropoutMask DropoutMask::fromState(double p, at::Device device, const SdpaRngState& state) {
  const SdpaRngState scalars = unpackRngScalars(state, /*on_host=*/true);
  return DropoutMask(p, device, valueOf(scalars.seed), valueOf(scalars.offset));
}

at::Tensor DropoutMask::multipliers(
    at::IntArrayRef scores,
    int64_t n0,
    int64_t n,
    int64_t l0,
    int64_t l,
    at::ScalarType type) {
  const int64_t heads = scores[1];
  const int64_t length = scores[2];
  const int64_t keys = scores[3];
  at::Tensor out = at::empty({n, heads, l, keys}, at::TensorOptions().dtype(type).device(device_));
  if (!device_.is_cpu()) {
    out.uniform_(0.0, 1.0, generator_);
    return out.ge_(p_).mul_(keepFactor(p_));
  }
  std::vector<int64_t> rows;
  rows.reserve(n * heads * l);
  for (int64_t nh = n0 * heads; nh < (n0 + n) * heads; ++nh) {
    for (int64_t i = l0; i < l0 + l; ++i) {
      rows.push_back(nh * length + i);
    }
  }
  if (type == at::kDouble) {
    fillRows(out.mutable_data_ptr<double>(), rows, keys, p_, seed_, offset_);
  } else {
    fillRows(out.mutable_data_ptr<float>(), rows, keys, p_, seed_, offset_);
  }
  return out;
}

SdpaRngState DropoutMask::state() const {
  return {int64Scalar(seed_), int64Scalar(offset_)};
}

void DropoutMask::finish() {
  if (device_.is_cpu()) {
    return;
  }
  at::Generator generator = at::globalContext().defaultGenerator(device_);
  std::lock_guard lock(generator.mutex());
  const uint64_t used = generator_.get_offset() - offset_;
  generator.set_offset(generator.get_offset() + used);
}

SdpaRngState packRngState(const SdpaRngState& state, bool vector_form, at::Device device) {
  return vector_form ? unpackRngVector(state, device) : unpackRngScalars(state, /*on_host=*/false);
}

SdpaRngState emptyRngState(bool vector_form, at::Device device) {
  if (vector_form) {
    const auto options = at::TensorOptions().dtype(at::kUInt64).device(device);
    return {at::empty({2}, options), at::empty({}, options)};
  }
  const auto options =
      at::TensorOptions().dtype(at::kLong).device(device.is_meta() ? device : at::Device(at::kCPU));
  return {at::empty({}, options), at::empty({}, options)};
}

SdpaRngState unpackRngScalars(const SdpaRngState& state, bool on_host) {
  at::Tensor seed = state.seed;
  at::Tensor offset = state.offset;
  if (isVectorForm(state)) {
    const at::Tensor both = state.seed.view(at::kLong);
    const at::Tensor source = on_host ? both.cpu() : both;
    return {source.select(0, 0), source.select(0, 1)};
  }
  return on_host ? SdpaRngState{seed.cpu(), offset.cpu()} : SdpaRngState{seed, offset};
}

SdpaRngState unpackRngVector(const SdpaRngState& state, at::Device device) {
  if (isVectorForm(state)) {
    return {state.seed.to(device), state.offset.to(device)};
  }
  const at::Tensor both = at::stack({state.seed, state.offset}).view(at::kUInt64);
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  return {both.to(device), at::zeros({}, options).view(at::kUInt64)};
}

// --- origins ---

namespace {

struct Origin {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  const SdpaBackend* backend;
};

std::mutex origins_mutex;
std::unordered_map<const c10::StorageImpl*, Origin>& origins() {
  static auto* map =
      new std::unordered_map<const c10::StorageImpl*, Origin>(); // outlives every user
  return *map;
}
constexpr size_t kManyOrigins = 1024;

} // namespace

void rememberRngOrigin(const SdpaRngState& state, const SdpaBackend& backend) {
  c10::StorageImpl* key = state.seed.storage().unsafeGetStorageImpl();
  std::lock_guard lock(origins_mutex);
  auto& map = origins();
  if (map.size() >= kManyOrigins) {
    std::erase_if(map, [](const auto& entry) { return entry.second.storage.expired(); });
  }
  map.insert_or_assign(key, Origin{state.seed.storage().getWeakStorageImpl(), &backend});
}

const SdpaBackend* rngOrigin(const SdpaRngState& state) {
  std::lock_guard lock(origins_mutex);
  const auto found = origins().find(state.seed.storage().unsafeGetStorageImpl());
  return found == origins().end() || found->second.storage.expired() ? nullptr
                                                                     : found->second.backend;
}

} // namespace nvfuser
