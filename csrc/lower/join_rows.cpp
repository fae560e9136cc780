#include <lower/join_rows.h>

#include <lower/kernel_visit.h>

#include <map>

namespace nvfuser {

namespace {

constexpr int64_t kRows = 4;

bool dependsOn(Index index, Index part) {
  return index != nullptr &&
      (index == part || dependsOn(index->a, part) || dependsOn(index->b, part));
}

bool holdsRegister(Index index) {
  return index != nullptr &&
      (index->op == IndexOp::Value || holdsRegister(index->a) || holdsRegister(index->b));
}

class Joiner {
 public:
  explicit Joiner(Kernel& kernel) : kernel_(kernel), indices_(kernel.indices) {}

  void run(KernelBody& body) {
    for (size_t i = 0; i < body.size(); ++i) {
      auto* loop = std::get_if<KernelLoop>(&body[i]->what);
      if (loop == nullptr) {
        continue;
      }
      if (!onlyAccumulatesRows(*loop)) {
        run(loop->body);
        continue;
      }
      // Rounds of four, then what is left over.
      Index rounds = indices_.div(loop->stop, indices_.constant(kRows));
      if (isConstant(rounds, 0)) {
        continue;
      }
      Index done = indices_.mul(rounds, indices_.constant(kRows));
      auto joined = joinedLoop(*loop, rounds);
      const bool is_all = done == loop->stop;
      loop->start = done;
      body.insert(body.begin() + static_cast<int64_t>(i), std::move(joined));
      ++i;
      if (is_all) {
        body.erase(body.begin() + static_cast<int64_t>(i));
        --i;
      }
    }
  }

 private:
  // [values of the row ..., one loop that accumulates into elements that all rows share]
  static bool onlyAccumulatesRows(KernelLoop& loop) {
    if (loop.start != nullptr || loop.body.empty()) {
      return false;
    }
    auto* inner = std::get_if<KernelLoop>(&loop.body.back()->what);
    if (inner == nullptr || dependsOn(inner->stop, loop.variable) ||
        dependsOn(inner->start, loop.variable)) {
      return false;
    }
    for (size_t i = 0; i + 1 < loop.body.size(); ++i) {
      if (!isValue(*loop.body[i])) {
        return false;
      }
    }
    bool accumulates = false;
    for (const auto& node : inner->body) {
      if (auto* accumulate = std::get_if<KernelAccumulate>(&node->what)) {
        if (accumulate->index == nullptr || dependsOn(accumulate->index, loop.variable)) {
          return false;
        }
        accumulates = true;
      } else if (!isValue(*node)) {
        return false;
      }
    }
    return accumulates;
  }

  static bool isValue(KernelNode& node) {
    const bool is_value = std::holds_alternative<KernelLoad>(node.what) ||
        std::holds_alternative<KernelCompute>(node.what) ||
        std::holds_alternative<KernelSelect>(node.what) ||
        std::holds_alternative<KernelFromIndex>(node.what);
    bool is_plain = is_value;
    forEachIndex(node, [&](Index& index) { is_plain = is_plain && !holdsRegister(index); });
    return is_plain;
  }

  std::unique_ptr<KernelNode> joinedLoop(const KernelLoop& loop, Index rounds) {
    const auto& inner = std::get<KernelLoop>(loop.body.back()->what);
    KernelLoop joined{indices_.loop(rounds, loop.variable->depth), rounds, loop.type, {}, nullptr};
    KernelLoop columns{inner.variable, inner.stop, inner.type, {}, inner.start};
    for (int64_t row = 0; row < kRows; ++row) {
      Index variable = indices_.add(
          indices_.mul(joined.variable, indices_.constant(kRows)), indices_.constant(row));
      indices_.setBound(variable, indices_.boundOf(loop.variable));
      std::map<int, int> registers;
      const auto add = [&](const KernelNode& node, KernelBody& body) {
        body.push_back(copyOf(node));
        forEachIndex(
            *body.back(), [&](Index& index) { index = replaced(index, loop.variable, variable); });
        forEachValue(*body.back(), [&](KernelValue& value) { rename(value, registers, body); });
      };
      for (size_t i = 0; i + 1 < loop.body.size(); ++i) {
        add(*loop.body[i], joined.body);
      }
      for (const auto& node : inner.body) {
        add(*node, columns.body);
      }
    }
    joined.body.push_back(std::make_unique<KernelNode>(KernelNode{std::move(columns)}));
    return std::make_unique<KernelNode>(KernelNode{std::move(joined)});
  }

  // A register that the rows set gets a new number in each of them; others are set outside.
  void rename(KernelValue& value, std::map<int, int>& registers, const KernelBody& body) {
    if (value.kind != KernelValue::Kind::Register) {
      return;
    }
    if (const auto it = registers.find(value.number); it != registers.end()) {
      value.number = it->second;
      return;
    }
    const bool is_set = std::visit(
        [&](const auto& what) {
          if constexpr (requires { what.out; }) {
            return &what.out == &value;
          } else {
            return false;
          }
        },
        body.back()->what);
    if (is_set) {
      registers[value.number] = kernel_.registers;
      value.number = kernel_.registers++;
    }
  }

  Index replaced(Index index, Index variable, Index by) {
    if (index == variable) {
      return by;
    }
    if (!dependsOn(index, variable)) {
      return index;
    }
    Index a = replaced(index->a, variable, by);
    Index b = replaced(index->b, variable, by);
    switch (index->op) {
      case IndexOp::Add:
        return indices_.add(a, b);
      case IndexOp::Sub:
        return indices_.sub(a, b);
      case IndexOp::Mul:
        return indices_.mul(a, b);
      case IndexOp::Div:
        return indices_.div(a, b);
      case IndexOp::Mod:
        return indices_.mod(a, b);
      case IndexOp::Min:
        return indices_.min(a, b);
      case IndexOp::Max:
        return indices_.max(a, b);
      case IndexOp::Lt:
        return indices_.ltUnbounded(a, b);
      case IndexOp::And:
        return indices_.both(a, b);
      default:
        NVF_ERROR(false, "an index without operands");
        return nullptr;
    }
  }

  Kernel& kernel_;
  IndexContext& indices_;
};

} // namespace

void joinRows(Kernel& kernel) {
  Joiner joiner(kernel);
  for (KernelStage& stage : kernel.stages) {
    joiner.run(stage.body);
  }
}

} // namespace nvfuser
