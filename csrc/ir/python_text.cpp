#include <ir/python_call.h>
#include <ir/python_text.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>

#include <algorithm>
#include <unordered_map>

namespace nvfuser {

namespace {

// Types whose constants Python literals give back with the same dtype.
bool printsInline(const Val* val) {
  switch (val->dtype()) {
    case DataType::Bool:
    case DataType::Int:
    case DataType::Index:
    case DataType::Double:
    case DataType::ComplexDouble:
      return val->isConst();
    default:
      return false;
  }
}

class PythonWriter {
 public:
  std::string write(const Fusion& fusion) {
    text_ = "def nvfuser_fusion(fd : FusionDefinition) -> None :\n";
    for (const Val* in : fusion.inputs()) {
      if (in->isTensor()) {
        defineTensor(in->as<TensorView>());
      } else {
        line(name(in) + " = fd.define_scalar(None, dtype=" + py::dtypeText(in->dtype()) + ")");
        defined_.insert({in, true});
      }
    }
    for (const Val* in : fusion.inputs()) {
      rememberExtents(in);
    }
    for (const Expr* expr : fusion.exprs()) {
      if (!defined_.contains(expr->outputs().front())) {
        statement(expr);
      }
    }
    for (size_t i = 0; i < fusion.outputs().size(); ++i) {
      const Val* out = fusion.outputs()[i];
      require(out);
      const auto& alias = fusion.aliasOf(i);
      line(
          "fd.add_output(" + text(out) +
          (alias.has_value() ? ", " + name(alias->input) : std::string()) + ")");
    }
    return std::move(text_);
  }

 private:
  static std::string name(const Val* val) {
    return (val->isTensor() ? "tv" : "c") + std::to_string(val->name());
  }

  void line(const std::string& statement) {
    text_ += "    " + statement + "\n";
  }

  void defineTensor(const TensorView* tv) {
    std::string shape;
    bool expanded = false;
    for (const IterDomain* id : tv->getLogicalDomain()) {
      const Val* extent = id->getMaybeExpandedExtent();
      shape += (shape.empty() ? "" : ", ") +
          std::to_string(extent->isConstInt() ? extent->constInt() : -1);
      expanded = expanded || id->hasExpandedExtent();
    }
    std::string contiguity;
    for (const auto& c : tv->domain()->contiguity()) {
      contiguity += (contiguity.empty() ? "" : ", ") +
          (c.has_value() ? py::boolText(*c) : std::string("None"));
    }
    const auto order = tv->domain()->strideOrder();
    line(
        name(tv) + " = fd.define_tensor(shape=[" + shape + "], contiguity=[" + contiguity +
        "], dtype=" + py::dtypeText(tv->dtype()) + ", is_cpu=" + py::boolText(tv->isCpuScalar()) +
        (order.empty() ? std::string() : ", stride_order=" + py::listText(order)) + ")");
    defined_.insert({tv, true});
  }

  // Sizes of tensors that were printed can be asked for by fd.ops.size.
  void rememberExtents(const Val* val) {
    if (!val->isTensor()) {
      return;
    }
    const auto shape = val->as<TensorView>()->shape();
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (!shape[dim]->isConst() && !shape[dim]->isFusionInput()) {
        extents_.insert({shape[dim], {val, static_cast<int64_t>(dim)}});
      }
    }
  }

  // Prints what `val` needs, if it stands on no line yet.
  void require(const Val* val) {
    if (val == nullptr || defined_.contains(val) || printsInline(val)) {
      return;
    }
    if (val->isConst()) {
      line(
          name(val) + " = fd.define_scalar(" + scalarPythonText(val->value()) +
          ", dtype=" + py::dtypeText(val->dtype()) + ")");
    } else if (const auto it = extents_.find(val); it != extents_.end()) {
      line(
          name(val) + " = fd.ops.size(" + name(it->second.first) +
          ", dim=" + std::to_string(it->second.second) + ")");
    } else if (val->definition() != nullptr) {
      statement(val->definition());
      return;
    } else {
      NVF_ERROR(false, val->toString(), " is neither an input, a constant nor an extent");
    }
    defined_.insert({val, true});
  }

  std::string text(const Val* val) const {
    return printsInline(val) ? scalarPythonText(val->value()) : name(val);
  }

  void requireArgs(const PythonCall& call) {
    for (const PythonArg& arg : call.args) {
      if (const auto* val = std::get_if<const Val*>(&arg.value)) {
        require(*val);
      } else if (const auto* vals = std::get_if<std::vector<Val*>>(&arg.value)) {
        for (const Val* v : *vals) {
          require(v);
        }
      }
    }
  }

  std::string argText(const PythonArg& arg) const {
    std::string value;
    if (const auto* val = std::get_if<const Val*>(&arg.value)) {
      value = text(*val);
    } else if (const auto* vals = std::get_if<std::vector<Val*>>(&arg.value)) {
      for (const Val* v : *vals) {
        value += (value.empty() ? "" : ", ") + text(v);
      }
      value = "[" + value + "]";
    } else {
      value = std::get<std::string>(arg.value);
    }
    return arg.keyword.empty() ? value : std::string(arg.keyword) + "=" + value;
  }

  void statement(const Expr* expr) {
    const bool scalar = expr->outputs().front()->isScalar();
    if (scalar && extents_.contains(expr->outputs().front())) {
      return; // printed as a size where it is needed
    }
    if (expr->outputs().front()->kind() == ValKind::IterDomain) {
      return;
    }
    const PythonCall call = expr->pythonCall();
    requireArgs(call);
    std::string outs;
    for (const Val* out : expr->outputs()) {
      outs += (outs.empty() ? "" : ", ") + name(out);
      defined_.insert({out, true});
    }
    for (int64_t i = 0; i < call.none_results; ++i) {
      outs += ", _";
    }
    std::string args;
    for (const PythonArg& arg : call.args) {
      args += (args.empty() ? "" : ", ") + argText(arg);
    }
    line(outs + " = fd.ops." + call.function + "(" + args + ")");
    for (const Val* out : expr->outputs()) {
      rememberExtents(out);
    }
  }

  std::string text_;
  std::unordered_map<const Val*, bool> defined_;
  std::unordered_map<const Val*, std::pair<const Val*, int64_t>> extents_;
};

} // namespace

std::string pythonText(const Fusion& fusion) {
  return PythonWriter().write(fusion);
}

} // namespace nvfuser
