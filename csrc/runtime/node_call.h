// What the evaluators of composite nodes share: operands by name, and errors that name the op.
#pragma once

#include <runtime/evaluator_registry.h>

#include <ATen/ATen.h>

#include <string_view>

namespace nvfuser {

/// One evaluation of a node.
class NodeCall {
 public:
  NodeCall(const Expr& expr, const std::vector<EvalValue>& operands)
      : expr_(expr), operands_(operands) {}

  /// The operand slot is filled.
  bool has(std::string_view name) const;
  const at::Tensor& tensor(std::string_view name) const;
  /// The tensor, or nothing where the operand is absent.
  std::optional<at::Tensor> maybeTensor(std::string_view name) const;
  const ScalarValue& scalar(std::string_view name) const;
  /// The operand is a tensor (operands that may be tensors or scalars).
  bool isTensor(std::string_view name) const;
  /// All scalars of a repeated slot; RuntimeError, naming the op, when one is negative.
  std::vector<int64_t> sizes(std::string_view name) const;

  /// Some tensor operand has no data: only shapes are wanted.
  bool isMeta() const;
  /// "index_select"
  std::string opName() const;
  /// "[4, 3] Float, [2] Long": the tensor operands.
  std::string shapes() const;

  /// The result of `f`, with the op's name and operand shapes added to ATen's errors. An index
  /// error stays one; running out of memory passes unchanged.
  template <typename F>
  auto run(F&& f) const {
    try {
      return f();
    } catch (const c10::IndexError& error) {
      rethrow(ErrorKind::Index, error);
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::NotImplementedError& error) {
      rethrow(ErrorKind::NotImplemented, error);
    } catch (const c10::Error& error) {
      rethrow(ErrorKind::Runtime, error);
    }
  }

 private:
  const EvalValue& value(std::string_view name) const;
  [[noreturn]] void rethrow(ErrorKind kind, const c10::Error& error) const;

  const Expr& expr_;
  const std::vector<EvalValue>& operands_;
};

} // namespace nvfuser
