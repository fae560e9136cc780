#include <ir/tensor_view.h>
#include <runtime/aten_helpers.h>
#include <runtime/expression_evaluator.h>
#include <runtime/input_checks.h>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

namespace {

// From the innermost dimension in memory outwards, a dimension declared contiguous must have the
// stride that the dimensions inside it take up.
void checkStrides(const TensorView* tv, const at::Tensor& tensor, const std::string& what) {
  if (tensor.numel() == 0) {
    return;
  }
  const auto logical = noReductions(tv->getLogicalDomain());
  const auto allocation = noReductions(tv->getMaybeAllocationDomain());
  const auto& contiguity = tv->domain()->contiguity();
  if (allocation.size() != logical.size() || contiguity.size() != allocation.size()) {
    return; // a transformed allocation domain (sharding) has no plain strides
  }
  int64_t expected = 1;
  for (size_t i = allocation.size(); i-- > 0;) {
    const auto it = std::find(logical.begin(), logical.end(), allocation[i]);
    if (it == logical.end()) {
      return;
    }
    const int64_t dim = it - logical.begin();
    const int64_t size = tensor.size(dim);
    const int64_t stride = tensor.stride(dim);
    if (allocation[i]->hasExpandedExtent()) {
      NVF_CHECK(
          stride == 0 || size == 1,
          what,
          ", ",
          tv->toString(),
          ", has a stride mismatch with contiguity info: dim ",
          dim,
          " is declared as expanded and must have stride 0, but the strides are ",
          sizesText(tensor.strides()));
      continue;
    }
    if (allocation[i]->isBroadcast() || size == 1) {
      continue;
    }
    NVF_CHECK(
        !contiguity[i].value_or(false) || stride == expected,
        what,
        ", ",
        tv->toString(),
        ", has a stride mismatch with contiguity info: dim ",
        dim,
        " is declared as contiguous and must have stride ",
        expected,
        ", but the tensor of sizes ",
        sizesText(tensor.sizes()),
        " has strides ",
        sizesText(tensor.strides()));
    expected = stride * size;
  }
}

// Python's numbers convert upwards (bool, int, float, complex), never down.
int scalarRank(DataType dtype) {
  return isComplexType(dtype) ? 3 : isFloatingPointType(dtype) ? 2 : isIntegralType(dtype) ? 1 : 0;
}

} // namespace

void checkInputs(const Fusion& fusion, const std::vector<EvalValue>& inputs) {
  NVF_CHECK(
      inputs.size() == fusion.inputs().size(),
      "The fusion has ",
      fusion.inputs().size(),
      " inputs, but ",
      inputs.size(),
      " were given");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Val* val = fusion.inputs()[i];
    const std::string what = "input " + std::to_string(i);
    if (!val->isTensor()) {
      NVF_CHECK(
          !inputs[i].isTensor(),
          "Expected ",
          what,
          ", ",
          val->toString(),
          ", to be a scalar but got ",
          inputs[i].isTensor() ? dataTypeText(fromAtenType(inputs[i].tensor().scalar_type())) : "",
          " tensor of rank ",
          inputs[i].isTensor() ? inputs[i].tensor().dim() : 0);
      NVF_CHECK(
          scalarRank(inferredDataType(inputs[i].scalar())) <= scalarRank(val->dtype()),
          "Scalar value ",
          scalarText(inputs[i].scalar()),
          " is not compatible with the expected data type: ",
          val->dtype(),
          ". (",
          what,
          ", ",
          val->toString(),
          ")");
      continue;
    }
    NVF_CHECK(
        inputs[i].isTensor(),
        "Expected ",
        what,
        ", ",
        val->toString(),
        ", to be an at::Tensor but got scalar ",
        inputs[i].isTensor() ? "" : scalarText(inputs[i].scalar()));
    const auto* tv = val->as<TensorView>();
    checkTensorAgainst(tv, inputs[i].tensor(), what);
    checkStrides(tv, inputs[i].tensor(), what);
  }
}

std::vector<size_t> sizeInputs(const Fusion& fusion) {
  std::unordered_set<const Val*> seen;
  std::vector<const Val*> open;
  const auto need = [&](const Val* val) {
    if (val != nullptr && !val->isConst() && seen.insert(val).second) {
      open.push_back(val);
    }
  };
  for (const TensorView* tv : fusion.tensorViews()) {
    for (const IterDomain* id : tv->getLogicalDomain()) {
      need(id->extent());
      need(id->expandedExtent());
    }
  }
  while (!open.empty()) {
    const Expr* definition = open.back()->definition();
    open.pop_back();
    for (const Val* operand : definition != nullptr ? definition->inputs() : std::vector<Val*>{}) {
      if (!operand->isTensor()) {
        need(operand);
      }
    }
  }
  std::vector<size_t> result;
  for (size_t i = 0; i < fusion.inputs().size(); ++i) {
    const Val* in = fusion.inputs()[i];
    if (!in->isTensor() && isIntegralType(in->dtype()) && seen.contains(in)) {
      result.push_back(i);
    }
  }
  return result;
}

std::unordered_map<const Val*, ScalarValue> sizesOfInputs(
    const Fusion& fusion,
    const std::vector<EvalValue>& inputs) {
  std::unordered_map<const Val*, ScalarValue> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Val* in = fusion.inputs().at(i);
    if (!in->isTensor()) {
      continue;
    }
    const auto shape = in->as<TensorView>()->shape();
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      sizes[shape[dim]] = inputs[i].tensor().size(static_cast<int64_t>(dim));
    }
  }
  return sizes;
}

at::Device runDevice(
    const Fusion& fusion,
    const std::vector<EvalValue>& inputs,
    std::optional<at::Device> requested) {
  std::optional<at::Device> device = requested;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].isTensor()) {
      continue;
    }
    const at::Tensor& tensor = inputs[i].tensor();
    const auto* tv = dynamic_cast<const TensorView*>(fusion.inputs().at(i));
    if (tv != nullptr && tv->isCpuScalar() && tensor.device().is_cpu()) {
      continue;
    }
    if (!device.has_value()) {
      device = tensor.device();
    }
    NVF_CHECK(
        *device == tensor.device() ||
            (device->type() == tensor.device().type() && !device->has_index()),
        "all tensors must be on one device: input ",
        i,
        " is on ",
        tensor.device().str(),
        ", expected ",
        device->str());
  }
  if (device.has_value()) {
    return *device;
  }
  // Inputs that are all CPU scalars stay there. Without any tensor the first GPU is taken, as
  // callers of the CUDA-only original expect.
  const bool has_tensor = std::any_of(
      inputs.begin(), inputs.end(), [](const EvalValue& input) { return input.isTensor(); });
  return !has_tensor && at::globalContext().hasCUDA() ? at::Device(at::kCUDA, 0)
                                                      : at::Device(at::kCPU);
}

} // namespace nvfuser
