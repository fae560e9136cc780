#include <runtime/scheduled_kernel.h>

#include <ir/nodes.h>
#include <runtime/cpu_segment.h>
#include <runtime/cuda_segment.h>

#include <algorithm>

namespace nvfuser {

SegmentedGroup wholeFusion(const Fusion& fusion, at::Device device) {
  SegmentedGroup group;
  group.is_kernel = true;
  const auto add = [](std::vector<Val*>& list, Val* val) {
    if (val->isTensor() && std::find(list.begin(), list.end(), val) == list.end()) {
      list.push_back(val);
    }
  };
  for (Expr* expr : fusion.exprs()) {
    const auto& outs = expr->outputs();
    if (std::none_of(outs.begin(), outs.end(), [](const Val* val) { return val->isTensor(); })) {
      continue;
    }
    const std::string reason =
        runsCudaText(device) ? whyNotInCudaKernel(expr) : whyNotInCpuKernel(expr);
    NVF_CHECK(
        reason.empty(), "the fusion cannot become one kernel: ", reason, ": ", expr->toString());
    group.exprs.push_back(expr);
    for (Val* in : expr->inputs()) {
      if (in->definition() == nullptr) {
        add(group.inputs, in);
      }
    }
  }
  for (Val* out : fusion.outputs()) {
    if (out->definition() != nullptr) {
      add(group.outputs, out);
    }
  }
  return group;
}

std::unique_ptr<KernelSegment> scheduledKernel(
    const SegmentedGroup& group,
    const KernelSegment::SizeOf& size_of,
    at::Device device) {
  try {
    if (runsCudaText(device)) {
      return std::make_unique<CudaSegment>(group, size_of, device, true);
    }
    return std::make_unique<CpuSegment>(group, size_of, true);
  } catch (const InternalError& error) {
    // Lowering has no other way to say that it cannot follow a user's schedule.
    throw UserError(
        ErrorKind::Runtime,
        "the schedule cannot be carried out on " + device.str() + ": " + error.what());
  }
}

std::string scheduledKernelText(const Fusion& fusion) {
  const SegmentedGroup group = wholeFusion(fusion, at::kCPU);
  if (group.exprs.empty()) {
    return "";
  }
  // Which sizes there are makes no difference to the text.
  const auto size_of = [](const Val*) { return ScalarValue(int64_t{1}); };
  return scheduledKernel(group, size_of, at::kCPU)->text();
}

} // namespace nvfuser
