#include <analysis/scalar_values.h>
#include <ir/nodes.h>
#include <ir/options.h>
#include <ir/runtime_options.h>
#include <ir/tensor_view.h>
#include <lower/emitter.h>
#include <passes/resolve_symbolic.h>
#include <passes/settle_shapes.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/input_checks.h>
#include <runtime/kernel_runtime.h>
#include <runtime/profiler.h>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <shared_mutex>

namespace nvfuser {

namespace {

using Key = std::vector<int64_t>;

struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t hash = key.size();
    for (int64_t word : key) {
      hash = (hash ^ static_cast<size_t>(word)) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

int64_t deviceWord(at::Device device) {
  return static_cast<int64_t>(device.type()) << 16 |
      (static_cast<int64_t>(device.index()) & 0xFFFF);
}

// Everything that a launch plan depends on; `size_inputs`: integers that sizes depend on.
void planKey(
    const std::vector<EvalValue>& inputs,
    const std::vector<size_t>& size_inputs,
    std::optional<at::Device> device,
    Key& key) {
  key.clear();
  key.push_back(runtimeOptions());
  key.push_back(device.has_value() ? deviceWord(*device) : -1);
  for (const EvalValue& input : inputs) {
    if (!input.isTensor()) {
      key.push_back(-1 - static_cast<int64_t>(input.scalar().index()));
      continue;
    }
    const at::Tensor& tensor = input.tensor();
    key.push_back(
        static_cast<int64_t>(tensor.scalar_type()) << 40 | deviceWord(tensor.device()) << 8 |
        tensor.dim());
    key.insert(key.end(), tensor.sizes().begin(), tensor.sizes().end());
    key.insert(key.end(), tensor.strides().begin(), tensor.strides().end());
  }
  for (size_t i : size_inputs) {
    if (i < inputs.size() && !inputs[i].isTensor()) {
      key.push_back(toInt(castScalar(inputs[i].scalar(), DataType::Int)));
    }
  }
}

// What a runtime is compiled for: options, devices, dtypes, ranks, which dims are 1 or 0, and how
// each dimension lies in memory (expanded, contiguous with the next, or strided).
Key classKey(const std::vector<EvalValue>& inputs, at::Device device) {
  Key key = {runtimeOptions(), deviceWord(device)};
  for (const EvalValue& input : inputs) {
    if (!input.isTensor()) {
      key.push_back(-1 - static_cast<int64_t>(input.scalar().index()));
      continue;
    }
    const at::Tensor& tensor = input.tensor();
    key.push_back(
        static_cast<int64_t>(tensor.scalar_type()) << 40 | deviceWord(tensor.device()) << 8 |
        tensor.dim());
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
      const int64_t size = tensor.size(dim);
      const bool innermost = dim + 1 == tensor.dim();
      const int64_t next = innermost ? 1 : tensor.stride(dim + 1) * tensor.size(dim + 1);
      const int64_t stride = tensor.stride(dim);
      key.push_back(size == 0 ? 0 : size == 1 ? 1 : stride == 0 ? 2 : stride == next ? 3 : 4);
    }
  }
  return key;
}

// More sizes than this are seen only by shapes that never repeat; their plans are dropped together.
constexpr size_t kMaxPlans = 1 << 14;

// Runtimes of one class of inputs that differ in what sizes decide; more are made by chance only.
constexpr size_t kMaxSettled = 8;

bool hasSymbolicDomains(const Fusion& fusion) {
  for (const TensorView* tv : fusion.tensorViews()) {
    const auto& domain = tv->getLogicalDomain();
    if (std::any_of(domain.begin(), domain.end(), [](auto* id) { return id->isSymbolic(); })) {
      return true;
    }
  }
  for (const Expr* expr : fusion.exprs()) {
    const auto* reshape = dynamic_cast<const ReshapeOp*>(expr);
    if (reshape != nullptr && !mapsEveryDim(reshape, reshape->input(0)->as<TensorView>())) {
      return true;
    }
  }
  return false;
}

} // namespace

struct FusionExecutorCache::State {
  // A runtime in which what sizes decide (which dimensions broadcast, how a reshape splits and
  // merges) is settled.
  struct Settled {
    std::vector<ShapeGuard> guards;
    std::shared_ptr<FusionKernelRuntime> runtime;
  };

  mutable std::shared_mutex mutex;
  std::unordered_map<Key, Launch, KeyHash> launches;
  std::unordered_map<Key, std::shared_ptr<FusionKernelRuntime>, KeyHash> runtimes;
  std::unordered_map<Key, std::vector<Settled>, KeyHash> settled;
  std::shared_ptr<FusionKernelRuntime> most_recent;
  std::vector<size_t> size_inputs; ///< see sizeInputs()

  std::unordered_map<const Val*, ScalarValue> knownSizes(
      const Fusion& fusion,
      const std::vector<EvalValue>& inputs) const {
    auto known = sizesOfInputs(fusion, inputs);
    for (size_t i : size_inputs) {
      const Val* in = fusion.inputs()[i];
      known[in] = castScalar(inputs[i].scalar(), in->dtype());
    }
    return known;
  }

  // nullptr: the general one serves.
  std::shared_ptr<FusionKernelRuntime> settledFor(
      const Fusion& fusion,
      const std::vector<EvalValue>& inputs,
      at::Device device,
      const Key& key) {
    // Meta tensors as well: what they predict must be what a run does.
    if (!(device.is_cpu() || device.is_cuda() || device.is_meta()) || !hasSymbolicDomains(fusion)) {
      return nullptr;
    }
    const auto known = knownSizes(fusion, inputs);
    ScalarValues values(known);
    auto& made = settled[key];
    for (const Settled& one : made) {
      if (guardsHold(one.guards, values)) {
        return one.runtime;
      }
    }
    if (made.size() >= kMaxSettled) {
      return nullptr;
    }
    auto shapes = settleShapes(fusion, known);
    if (!shapes.has_value()) {
      // No elements, mostly: for exactly these sizes.
      shapes = SettledShapes{resolveSymbolic(fusion, known), {}};
      for (const auto& [val, value] : known) {
        shapes->guards.push_back({{val}, {}, true, toInt(value)});
      }
    }
    auto runtime = std::make_shared<FusionKernelRuntime>(*shapes->fusion, inputs, device);
    made.push_back({std::move(shapes->guards), runtime});
    return runtime;
  }

  std::shared_ptr<FusionKernelRuntime> runtimeFor(
      const Fusion& fusion,
      const std::vector<EvalValue>& inputs,
      at::Device device,
      bool auto_schedule) {
    const Key key = classKey(inputs, device);
    if (auto_schedule && isOptionEnabled("generated_kernels")) {
      if (auto runtime = settledFor(fusion, inputs, device, key); runtime != nullptr) {
        return runtime;
      }
    }
    if (const auto it = runtimes.find(key); it != runtimes.end()) {
      return it->second;
    }
    auto runtime = std::make_shared<FusionKernelRuntime>(fusion, inputs, device, !auto_schedule);
    return runtimes[key] = std::move(runtime);
  }
};

FusionExecutorCache::FusionExecutorCache(
    std::shared_ptr<Fusion> fusion,
    int64_t fusion_id,
    bool auto_schedule)
    : fusion_(std::move(fusion)),
      fusion_id_(fusion_id),
      auto_schedule_(auto_schedule),
      state_(std::make_unique<State>()) {
  NVF_CHECK(fusion_ != nullptr, "FusionExecutorCache needs a Fusion");
  state_->size_inputs = sizeInputs(*fusion_);
  checkOptionsOfEnvironment();
}

FusionExecutorCache::~FusionExecutorCache() = default;

namespace {

// Runs without recording gradients, whatever the inputs require; ambient autocast does not apply.
struct PlainDispatch {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
  const at::AutoGradMode no_grad{false};
};

} // namespace

FusionExecutorCache::Launch FusionExecutorCache::prepare(
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> device) {
  thread_local Key key;
  planKey(inputs, state_->size_inputs, device, key);
  Launch launch;
  {
    std::shared_lock lock(state_->mutex);
    if (const auto it = state_->launches.find(key); it != state_->launches.end()) {
      launch = it->second;
    }
  }
  if (launch.plan != nullptr) {
    return launch;
  }
  const Key miss = key;
  const PlainDispatch plain;
  launch.device = [&] {
    NVF_CHECK(
        inputs.size() == fusion_->inputs().size(),
        "The fusion has ",
        fusion_->inputs().size(),
        " inputs, but ",
        inputs.size(),
        " were given");
    checkInputs(*fusion_, inputs);
    return runDevice(*fusion_, inputs, device);
  }();
  std::unique_lock lock(state_->mutex);
  launch.runtime = state_->runtimeFor(*fusion_, inputs, launch.device, auto_schedule_);
  state_->most_recent = launch.runtime;
  launch.plan = launch.runtime->makePlan(inputs);
  if (state_->launches.size() >= kMaxPlans) {
    state_->launches.clear();
  }
  state_->launches.emplace(miss, launch);
  return launch;
}

std::vector<EvalValue> FusionExecutorCache::execute(
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> device) {
  if (isProfiling()) {
    return profileRun(*this, inputs, device);
  }
  return run(prepare(inputs, device), inputs);
}

std::vector<EvalValue> FusionExecutorCache::run(
    const Launch& launch,
    const std::vector<EvalValue>& inputs) {
  const PlainDispatch plain;
  const c10::OptionalDeviceGuard device_guard(launch.device);
  return launch.runtime->run(*launch.plan, inputs, launch.device);
}

std::shared_ptr<const FusionKernelRuntime> FusionExecutorCache::mostRecent() const {
  std::shared_lock lock(state_->mutex);
  return state_->most_recent;
}

bool FusionExecutorCache::isCompiled(
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> device) {
  const at::Device on = runDevice(*fusion_, inputs, device);
  const Key class_key = classKey(inputs, on);
  std::shared_lock lock(state_->mutex);
  if (state_->runtimes.contains(class_key)) {
    return true;
  }
  const auto it = state_->settled.find(class_key);
  if (it == state_->settled.end()) {
    return false;
  }
  ScalarValues values(state_->knownSizes(*fusion_, inputs));
  return std::any_of(it->second.begin(), it->second.end(), [&](const auto& one) {
    return guardsHold(one.guards, values);
  });
}

std::string FusionExecutorCache::mostRecentSegmentedText() const {
  std::shared_lock lock(state_->mutex);
  NVF_CHECK(state_->most_recent != nullptr, "the fusion has not been executed yet");
  return state_->most_recent->text();
}

std::string FusionExecutorCache::mostRecentKernelText() const {
  std::shared_lock lock(state_->mutex);
  NVF_CHECK(state_->most_recent != nullptr, "the fusion has not been executed yet");
  return state_->most_recent->kernelText();
}

size_t FusionExecutorCache::numRuntimes() const {
  std::shared_lock lock(state_->mutex);
  size_t count = state_->runtimes.size();
  for (const auto& [key, made] : state_->settled) {
    count += made.size();
  }
  return count;
}

} // namespace nvfuser
