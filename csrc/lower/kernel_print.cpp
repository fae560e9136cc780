// Kernel::toString: kernel IR as text for people.
#include <lower/kernel.h>

#include <ir/nodes.h>

#include <algorithm>

namespace nvfuser {

namespace {

std::string opOf(const Expr* expr) {
  try {
    return expr->pythonCall().function;
  } catch (const InternalError&) {
    return std::string(expr->opName()); // no operation of a definition: a pass made it
  }
}

// How tightly an index operator binds; leaves bind most.
int binding(IndexOp op) {
  switch (op) {
    case IndexOp::And:
      return 0;
    case IndexOp::Lt:
      return 1;
    case IndexOp::Add:
    case IndexOp::Sub:
      return 2;
    case IndexOp::Mul:
    case IndexOp::Div:
    case IndexOp::Mod:
      return 3;
    default:
      return 4;
  }
}

std::string_view symbolOf(IndexOp op) {
  switch (op) {
    case IndexOp::And:
      return " and ";
    case IndexOp::Lt:
      return " < ";
    case IndexOp::Add:
      return " + ";
    case IndexOp::Sub:
      return " - ";
    case IndexOp::Mul:
      return " * ";
    case IndexOp::Div:
      return " / ";
    case IndexOp::Mod:
      return " % ";
    case IndexOp::Min:
      return "min";
    case IndexOp::Max:
      return "max";
    default:
      return "";
  }
}

std::string text(Index index) {
  switch (index->op) {
    case IndexOp::Constant:
      return std::to_string(index->number);
    case IndexOp::Loop:
      return "l" + std::to_string(index->number);
    case IndexOp::Thread:
      return std::string(parallelTypeText(static_cast<ParallelType>(index->number)));
    case IndexOp::Param:
      return "p" + std::to_string(index->number);
    case IndexOp::Value:
      return "r" + std::to_string(index->number);
    case IndexOp::Min:
    case IndexOp::Max:
      return detail::concat(symbolOf(index->op), "(", text(index->a), ", ", text(index->b), ")");
    default:
      break;
  }
  if (index->op == IndexOp::Add && isConstant(index->b) && index->b->number < 0) {
    return detail::concat(text(index->a), " - ", -index->b->number);
  }
  // a - (b - c), a / (b * c): a right operand that binds as tightly needs its parentheses.
  const int own = binding(index->op);
  const std::string a = text(index->a);
  const std::string b = text(index->b);
  return detail::concat(
      binding(index->a->op) < own ? "(" + a + ")" : a,
      symbolOf(index->op),
      binding(index->b->op) <= own ? "(" + b + ")" : b);
}

std::string text(const KernelValue& value) {
  switch (value.kind) {
    case KernelValue::Kind::Register:
      return "r" + std::to_string(value.number);
    case KernelValue::Kind::Scalar:
      return "s" + std::to_string(value.number);
    case KernelValue::Kind::Constant:
      return hasValue(value.constant) ? scalarText(value.constant) : "none";
  }
  return "";
}

std::string_view kindText(KernelBuffer::Kind kind) {
  switch (kind) {
    case KernelBuffer::Kind::Input:
      return "input";
    case KernelBuffer::Kind::Output:
      return "output";
    case KernelBuffer::Kind::Workspace:
      return "workspace";
    case KernelBuffer::Kind::Array:
      return "array";
    case KernelBuffer::Kind::Accumulator:
      return "accumulator";
    case KernelBuffer::Kind::Shared:
      return "shared";
  }
  return "";
}

class TreePrinter {
 public:
  explicit TreePrinter(const Kernel& kernel) : kernel_(kernel) {}

  std::string run() {
    line("kernel of ", kernel_.stages.size(), kernel_.stages.size() == 1 ? " stage" : " stages");
    declarations();
    for (size_t i = 0; i < kernel_.stages.size(); ++i) {
      const KernelStage& stage = kernel_.stages[i];
      line("stage ", i, ":");
      ++depth_;
      for (const auto& [type, extents] : stage.threads) {
        std::string all;
        for (Index extent : extents) {
          all += (all.empty() ? "" : ", ") + text(extent);
        }
        line(parallelTypeText(type), " of ", all);
      }
      body(stage.prologue);
      if (stage.tasks != nullptr) {
        line("parallel for ", text(stage.variable), " in 0 .. ", text(stage.tasks), ":");
        ++depth_;
      }
      body(stage.body);
      depth_ -= stage.tasks != nullptr ? 2 : 1;
    }
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void line(const Args&... args) {
    out_ += std::string(2 * depth_, ' ') + detail::concat(args...) + "\n";
  }

  void declarations() {
    ++depth_;
    const auto& params = kernel_.indices.params();
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].scalar != nullptr) {
        line("p", i, " = ", params[i].scalar->toInlineString());
      } else {
        line("p", i, " = stride ", params[i].dim, " of ", params[i].tensor->toString());
      }
    }
    for (size_t i = 0; i < kernel_.scalars.size(); ++i) {
      const Val* scalar = kernel_.scalars[i];
      line(scalar->dtype(), " s", i, " = ", scalar->toInlineString());
    }
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const KernelBuffer& buffer = kernel_.buffers[i];
      line(
          buffer.dtype,
          " b",
          i,
          ": ",
          kindText(buffer.kind),
          buffer.size == nullptr ? "" : " of " + text(buffer.size),
          " for ",
          buffer.tensor->toString());
    }
    for (size_t i = 0; i < kernel_.randoms.size(); ++i) {
      const RandomSource& source = kernel_.randoms[i];
      const bool own = source.seed.dtype != DataType::Null;
      line(
          "random ",
          i,
          ": ",
          opOf(source.expr),
          "(",
          text(source.a),
          ", ",
          text(source.b),
          own ? "), seed " + text(source.seed) + ", offset " + text(source.offset)
              : "), state of the generator");
    }
    for (const SizeCheck& check : kernel_.checks) {
      line(
          "requires ",
          check.a->toInlineString(),
          " == ",
          check.b->toInlineString(),
          " for ",
          opOf(check.expr));
    }
    for (const auto& [size, factor] : kernel_.multiples) {
      line("requires ", text(size), " to be a multiple of ", factor);
    }
    --depth_;
  }

  void body(const KernelBody& nodes) {
    for (const auto& node : nodes) {
      std::visit([this](const auto& what) { print(what); }, node->what);
    }
  }

  static std::string declared(const KernelValue& out) {
    return detail::concat(out.dtype, " ", text(out), " = ");
  }
  static std::string where(Index condition) {
    return condition == nullptr ? "" : " where " + text(condition);
  }
  static std::string element(int buffer, Index index) {
    return detail::concat("b", buffer, index == nullptr ? "" : "[" + text(index) + "]");
  }

  void print(const KernelLoop& loop) {
    line(
        loop.type == ParallelType::Serial ? "" : std::string(parallelTypeText(loop.type)) + " ",
        "for ",
        text(loop.variable),
        " in ",
        loop.start == nullptr ? "0" : text(loop.start),
        " .. ",
        text(loop.stop),
        ":");
    ++depth_;
    body(loop.body);
    --depth_;
  }
  void print(const KernelCompute& node) {
    std::string operands;
    for (const KernelValue& operand : node.operands) {
      operands += (operands.empty() ? "" : ", ") + text(operand);
    }
    line(declared(node.out), opOf(node.expr), "(", operands, ")");
  }
  void print(const KernelLoad& node) {
    const std::string otherwise = node.condition == nullptr ? "" : " else 0";
    line(declared(node.out), element(node.buffer, node.index), where(node.condition), otherwise);
  }
  void print(const KernelStore& node) {
    line(element(node.buffer, node.index), " = ", text(node.value), where(node.condition));
  }
  void print(const KernelDeclare& node) {
    line(
        "b",
        node.buffer,
        node.neutral_of.has_value() ? detail::concat(" = neutral of ", opText(*node.neutral_of))
                                    : std::string(" declared"));
  }
  void print(const KernelAccumulate& node) {
    const std::string place = element(node.buffer, node.index);
    line(
        place,
        " = ",
        opText(node.type),
        "(",
        place,
        ", ",
        text(node.value),
        ")",
        where(node.condition));
  }
  void print(const KernelSelect& node) {
    line(declared(node.out), text(node.yes), " if ", text(node.condition), " else ", text(node.no));
  }
  void print(const KernelFromIndex& node) {
    line(declared(node.out), "index ", text(node.index));
  }
  void print(const KernelPosition& node) {
    line(
        declared(node.out),
        "position ",
        text(node.value),
        " of ",
        text(node.extent),
        node.wraps ? ", from the end where negative," : "",
        " for ",
        opOf(node.expr),
        where(node.condition));
  }
  void print(const KernelRandom& node) {
    line(declared(node.out), "random ", node.source, " number ", text(node.element));
  }
  void print(const KernelSync& /*node*/) {
    line("synchronise the block");
  }
  void print(const KernelBlockReduce& node) {
    line(
        "b",
        node.buffer,
        " = ",
        opText(node.type),
        " over the block's",
        node.over_x ? " x" : "",
        node.over_y ? " y" : "");
  }
  void print(const KernelTransposedCopy& node) {
    line(
        element(node.target, node.target_index),
        " by ",
        text(node.target_stride),
        " = transposed ",
        text(node.rows),
        " x ",
        text(node.columns),
        " of ",
        element(node.source, node.source_index),
        " by ",
        text(node.source_stride));
  }

  const Kernel& kernel_;
  std::string out_;
  size_t depth_ = 0;
};

} // namespace

std::string Kernel::toString() const {
  return TreePrinter(*this).run();
}

} // namespace nvfuser
