#include <ir/exceptions.h>
#include <runtime/attention/backend.h>
#include <runtime/attention/bias.h>
#include <runtime/attention/cuda_query.h>
#include <runtime/attention/dropout.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <mutex>

namespace nvfuser {

namespace {

// A summed bias and mask above this many elements is made for some batch rows at a time.
constexpr int64_t kSummedBiasBudget = int64_t{1} << 22;
constexpr size_t kRunLogSize = 1024;
constexpr double kInf = std::numeric_limits<double>::infinity();

// --- which backend ran ---

struct RunLog {
  std::mutex mutex;
  std::map<std::string, int64_t> counts;
  std::deque<std::string> names;
};

RunLog& runLog() {
  static auto* log = new RunLog; // outlives threads that still run at exit
  return *log;
}

thread_local std::string last_backend;

void recordRun(const SdpaBackend& backend, SdpaPass pass) {
  last_backend = backend.name();
  std::string name = last_backend + (pass == SdpaPass::Backward ? "_backward" : "");
  RunLog& log = runLog();
  std::lock_guard lock(log.mutex);
  ++log.counts[name];
  log.names.push_back(std::move(name));
  if (log.names.size() > kRunLogSize) {
    log.names.pop_front();
  }
}

// --- choice ---

const SdpaBackend* const kBackends[] =
    {&cudnnBackend(), &flashBackend(), &efficientBackend(), &cpuFlashBackend(), &mathBackend()};

std::string backendNames() {
  std::string text = "auto";
  for (const SdpaBackend* backend : kBackends) {
    text += detail::concat(", ", backend->name());
  }
  return text;
}

const SdpaBackend& backendNamed(std::string_view op, const std::string& name) {
  for (const SdpaBackend* backend : kBackends) {
    if (backend->name() == name) {
      return *backend;
    }
  }
  NVF_CHECK(false, op, ": there is no attention backend '", name, "'; there are ", backendNames());
  std::abort();
}

std::string reasonAgainst(const SdpaBackend& backend, const SdpaProblem& p, SdpaPass pass) {
  std::string reason = backend.supports(p, pass);
  if (reason.empty() && !backend.switchedOn()) {
    reason = "is switched off in torch (torch.nn.attention.sdpa_kernel or torch.backends.cuda)";
  }
  return reason;
}

// Why this backend cannot run the backward that belongs to a forward with dropout.
std::string reasonAgainstBackward(const SdpaProblem& p, SdpaPass pass, const SdpaBackend& backend) {
  // The same backend must run it, since only that one reproduces its mask.
  if (pass == SdpaPass::Forward && p.hasDropout() && p.training) {
    return backend.supports(p, SdpaPass::Backward);
  }
  return "";
}

// --- running ---

// Whether bias and mask are better summed for some batch rows at a time, and how many.
int64_t batchRowsAtOnce(const SdpaBackend& backend, const SdpaProblem& p) {
  const int64_t cost = backend.takesMask() ? 0 : additiveBiasCost(p);
  if (cost <= kSummedBiasBudget || p.hasDropout()) {
    return p.batch();
  }
  return std::max<int64_t>(1, kSummedBiasBudget / (cost / p.batch() + 1));
}

SdpaForwardResult forwardWith(const SdpaBackend& backend, const SdpaProblem& p) {
  const int64_t rows = batchRowsAtOnce(backend, p);
  if (rows >= p.batch()) {
    return backend.forward(p);
  }
  SdpaForwardResult result;
  result.attn_out = emptyInOrder(
      {p.batch(), p.heads(), p.queryLength(), p.valueHeadSize()},
      memoryOrder(p.query),
      p.query.options());
  if (p.training) {
    result.logsumexp =
        at::empty({p.batch(), p.heads(), p.queryLength()}, p.query.options().dtype(at::kFloat));
  }
  for (int64_t begin = 0; begin < p.batch(); begin += rows) {
    const int64_t count = std::min(rows, p.batch() - begin);
    const SdpaForwardResult part = backend.forward(p.narrowBatch(begin, count));
    result.attn_out.narrow(0, begin, count).copy_(part.attn_out);
    if (p.training) {
      result.logsumexp.narrow(0, begin, count).copy_(part.logsumexp);
    }
  }
  return result;
}

SdpaBackwardResult backwardWith(
    const SdpaBackend& backend,
    const SdpaProblem& p,
    const SdpaBackwardInputs& in) {
  const int64_t rows = batchRowsAtOnce(backend, p);
  if (rows >= p.batch()) {
    return backend.backward(p, in);
  }
  SdpaBackwardResult result{
      at::empty_like(p.query), at::empty_like(p.key), at::empty_like(p.value), {}};
  if (p.bias_grad) {
    result.grad_bias = at::zeros(p.bias.sizes(), p.bias.options());
  }
  for (int64_t begin = 0; begin < p.batch(); begin += rows) {
    const int64_t count = std::min(rows, p.batch() - begin);
    const auto of = [&](const at::Tensor& t) { return t.narrow(0, begin, count); };
    const SdpaBackwardResult part = backend.backward(
        p.narrowBatch(begin, count), {of(in.grad_out), of(in.attn_out), of(in.logsumexp), in.rng});
    of(result.grad_query).copy_(part.grad_query);
    of(result.grad_key).copy_(part.grad_key);
    of(result.grad_value).copy_(part.grad_value);
    if (p.bias_grad) {
      (p.bias.size(0) == 1 ? result.grad_bias : of(result.grad_bias)).add_(part.grad_bias);
    }
  }
  return result;
}

// Chooses a backend and runs it. Under "auto" a kernel that refuses after all passes the call on to
// the next one: what a release of cuDNN takes is not known in full beforehand.
template <typename Run>
auto choose(
    std::string_view op,
    const SdpaProblem& p,
    SdpaPass pass,
    const std::string& name,
    const SdpaBackend* preferred,
    const Run& run) {
  if (name != "auto") {
    const SdpaBackend& backend = backendNamed(op, name);
    std::string reason = backend.supports(p, pass);
    if (reason.empty()) {
      reason = reasonAgainstBackward(p, pass, backend);
    }
    NVF_CHECK(
        reason.empty(),
        op,
        ": backend '",
        name,
        "' cannot run this: it ",
        reason,
        "; ",
        p.toString());
    auto result = run(backend);
    recordRun(backend, pass);
    return result;
  }
  std::vector<const SdpaBackend*> candidates = sdpaBackendOrder(p, pass);
  if (preferred != nullptr) {
    candidates = {preferred};
  }
  std::string reasons;
  for (const SdpaBackend* backend : candidates) {
    std::string reason =
        preferred != nullptr ? backend->supports(p, pass) : reasonAgainst(*backend, p, pass);
    if (reason.empty()) {
      reason = reasonAgainstBackward(p, pass, *backend);
    }
    if (reason.empty()) {
      try {
        auto result = run(*backend);
        recordRun(*backend, pass);
        return result;
      } catch (const c10::OutOfMemoryError&) {
        throw;
      } catch (const c10::Error& error) {
        reason = detail::concat("failed: ", error.what_without_backtrace());
      }
    }
    reasons += detail::concat("\n  ", backend->name(), " ", reason);
  }
  NVF_CHECK(
      false,
      op,
      ": no attention backend can run this: ",
      p.toString(),
      ". For each, why not:",
      reasons);
  std::abort();
}

} // namespace

std::vector<const SdpaBackend*> sdpaBackendOrder(const SdpaProblem& p, SdpaPass pass) {
  const SdpaBackend* cudnn = &cudnnBackend();
  const SdpaBackend* flash = &flashBackend();
  const SdpaBackend* efficient = &efficientBackend();
  const SdpaBackend* cpu_flash = &cpuFlashBackend();
  const SdpaBackend* math = &mathBackend();
  const auto device = p.query.device();
  if (!device.is_cuda()) {
    if (pass == SdpaPass::Backward && p.query.scalar_type() == at::kDouble) {
      // logsumexp is float32, which would bound the accuracy of the kernel's gradients.
      return {math, cpu_flash, cudnn, flash, efficient};
    }
    return {cpu_flash, math, cudnn, flash, efficient};
  }
  if (p.hasDropout()) {
    // The order must not depend on anything but the problem: the backward goes through it too.
    return {flash, efficient, cudnn, math, cpu_flash};
  }
  // Bottom-right calls are those of the flash-named ops, whose callers compare with flash.
  // Measured on an H200 (bf16, D 128, 8192 keys): cuDNN 0.80 ms, flash 1.52 ms, efficient 3.15 ms.
  // Before Hopper cuDNN is the slower one.
  if (p.alignment == CausalAlignment::BottomRight || computeCapability(device) < 90) {
    return {flash, cudnn, efficient, math, cpu_flash};
  }
  return {cudnn, flash, efficient, math, cpu_flash};
}

std::vector<SdpaBackendInfo> sdpaBackends(const SdpaProblem& p, SdpaPass pass) {
  std::vector<SdpaBackendInfo> result;
  for (const SdpaBackend* backend : sdpaBackendOrder(p, pass)) {
    std::string reason;
    if (!p.isEmpty()) {
      reason = reasonAgainst(*backend, p, pass);
      if (reason.empty()) {
        reason = reasonAgainstBackward(p, pass, *backend);
      }
    }
    result.push_back({std::string(backend->name()), reason.empty(), reason});
  }
  return result;
}

SdpaForwardResult runSdpaForward(
    std::string_view op,
    const SdpaProblem& p,
    const std::string& name) {
  if (p.isEmpty()) {
    checkSdpaBackendName(op, name);
    const auto options = p.query.options();
    SdpaForwardResult result;
    result.attn_out =
        at::zeros({p.batch(), p.heads(), p.queryLength(), p.valueHeadSize()}, options);
    if (p.training) {
      result.logsumexp =
          at::full({p.batch(), p.heads(), p.queryLength()}, -kInf, options.dtype(at::kFloat));
    }
    return result;
  }
  return choose(op, p, SdpaPass::Forward, name, nullptr, [&](const SdpaBackend& backend) {
    SdpaForwardResult result = forwardWith(backend, p);
    if (result.rng.seed.defined()) {
      result.rng_origin = &backend;
    }
    return result;
  });
}

SdpaBackwardResult runSdpaBackward(
    std::string_view op,
    const SdpaProblem& p,
    const SdpaBackwardInputs& in,
    const std::string& name) {
  if (p.isEmpty()) {
    checkSdpaBackendName(op, name);
    return {
        at::zeros_like(p.query),
        at::zeros_like(p.key),
        at::zeros_like(p.value),
        p.bias_grad ? at::zeros_like(p.bias) : at::Tensor()};
  }
  const SdpaBackend* origin = p.hasDropout() ? rngOrigin(in.rng) : nullptr;
  return choose(op, p, SdpaPass::Backward, name, origin, [&](const SdpaBackend& backend) {
    return backwardWith(backend, p, in);
  });
}

void checkSdpaBackendName(std::string_view op, const std::string& name) {
  if (name != "auto") {
    backendNamed(op, name);
  }
}

std::string lastSdpaBackend() {
  return last_backend;
}

std::vector<std::pair<std::string, int64_t>> sdpaRunCounts() {
  RunLog& log = runLog();
  std::lock_guard lock(log.mutex);
  return {log.counts.begin(), log.counts.end()};
}

std::vector<std::string> sdpaRunLog() {
  RunLog& log = runLog();
  std::lock_guard lock(log.mutex);
  return {log.names.begin(), log.names.end()};
}

void resetSdpaRunCounts() {
  RunLog& log = runLog();
  std::lock_guard lock(log.mutex);
  log.counts.clear();
  log.names.clear();
}

} // namespace nvfuser
