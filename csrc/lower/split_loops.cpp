#include <lower/split_loops.h>

#include <algorithm>
#include <set>

namespace nvfuser {

namespace {

constexpr size_t kMaxCuts = 4;

bool isInnermost(const KernelLoop& loop) {
  return std::none_of(loop.body.begin(), loop.body.end(), [](const auto& node) {
    return std::holds_alternative<KernelLoop>(node->what) ||
        std::holds_alternative<KernelTransposedCopy>(node->what);
  });
}

bool contains(Index index, Index part) {
  return index != nullptr &&
      (index == part || contains(index->a, part) || contains(index->b, part));
}

Index* conditionOf(KernelNode& node) {
  return std::visit(
      [](auto& what) -> Index* {
        if constexpr (requires { what.condition; }) {
          return &what.condition;
        } else {
          return nullptr;
        }
      },
      node.what);
}

/// variable + number
std::optional<int64_t> offsetFrom(Index index, Index variable) {
  if (index == variable) {
    return 0;
  }
  if (index->op == IndexOp::Add && index->a == variable && isConstant(index->b)) {
    return index->b->number;
  }
  return std::nullopt;
}

class Splitter {
 public:
  explicit Splitter(Kernel& kernel) : indices_(kernel.indices) {}

  void run(KernelBody& body) {
    for (size_t i = 0; i < body.size(); ++i) {
      auto* loop = std::get_if<KernelLoop>(&body[i]->what);
      if (loop == nullptr) {
        continue;
      }
      if (!isInnermost(*loop)) {
        run(loop->body);
        continue;
      }
      std::set<int64_t> cuts;
      if (!collectCuts(*loop, cuts) || cuts.empty() || cuts.size() > kMaxCuts) {
        continue;
      }
      KernelBody parts = cut(*loop, cuts);
      const auto place = body.erase(body.begin() + static_cast<int64_t>(i));
      const size_t count = parts.size();
      body.insert(
          place, std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
      i += count - 1;
    }
  }

 private:
  // False when a condition depends on the loop in another way.
  bool collectCuts(KernelLoop& loop, std::set<int64_t>& cuts) const {
    if (!isConstant(loop.stop) || loop.start != nullptr) {
      return false;
    }
    for (const auto& node : loop.body) {
      Index* condition = conditionOf(*node);
      if (condition != nullptr && *condition != nullptr && !collectCuts(*condition, loop, cuts)) {
        return false;
      }
    }
    return true;
  }

  bool collectCuts(Index condition, const KernelLoop& loop, std::set<int64_t>& cuts) const {
    if (!contains(condition, loop.variable)) {
      return true;
    }
    if (condition->op == IndexOp::And) {
      return collectCuts(condition->a, loop, cuts) && collectCuts(condition->b, loop, cuts);
    }
    const auto cut = cutOf(condition, loop.variable);
    if (!cut.has_value()) {
      return false;
    }
    if (*cut > 0 && *cut < loop.stop->number) {
      cuts.insert(*cut);
    }
    return true;
  }

  // Where `a < b` changes.
  static std::optional<int64_t> cutOf(Index condition, Index variable) {
    if (condition->op != IndexOp::Lt) {
      return std::nullopt;
    }
    if (const auto offset = offsetFrom(condition->a, variable);
        offset.has_value() && isConstant(condition->b)) {
      return condition->b->number - *offset;
    }
    if (const auto offset = offsetFrom(condition->b, variable);
        offset.has_value() && isConstant(condition->a)) {
      return condition->a->number - *offset + 1;
    }
    return std::nullopt;
  }

  // The condition in the range that begins at `start`.
  Index settled(Index condition, Index variable, int64_t start) {
    if (condition == nullptr || !contains(condition, variable)) {
      return condition;
    }
    if (condition->op == IndexOp::And) {
      return indices_.both(
          settled(condition->a, variable, start), settled(condition->b, variable, start));
    }
    const int64_t cut = *cutOf(condition, variable);
    const bool is_below = offsetFrom(condition->a, variable).has_value();
    const bool holds = is_below ? start < cut : start >= cut;
    return holds ? nullptr : indices_.constant(0);
  }

  KernelBody cut(const KernelLoop& loop, const std::set<int64_t>& cuts) {
    std::vector<int64_t> ends(cuts.begin(), cuts.end());
    ends.push_back(loop.stop->number);
    KernelBody parts;
    int64_t start = 0;
    for (int64_t end : ends) {
      KernelLoop part{
          loop.variable, indices_.constant(end), loop.type, {}, indices_.constant(start)};
      for (const auto& node : loop.body) {
        addSettled(*node, loop.variable, start, part.body);
      }
      parts.push_back(std::make_unique<KernelNode>(KernelNode{std::move(part)}));
      start = end;
    }
    return parts;
  }

  void addSettled(const KernelNode& node, Index variable, int64_t start, KernelBody& body) {
    const auto add = [&](auto what) {
      body.push_back(std::make_unique<KernelNode>(KernelNode{std::move(what)}));
    };
    std::visit(
        [&](const auto& what) {
          using What = std::decay_t<decltype(what)>;
          if constexpr (
              std::is_same_v<What, KernelLoop> || std::is_same_v<What, KernelTransposedCopy>) {
            NVF_ERROR(false, "an innermost loop has no loop inside");
          } else if constexpr (requires { what.condition; }) {
            What copy = what;
            copy.condition = settled(what.condition, variable, start);
            const bool never = copy.condition != nullptr && isConstant(copy.condition, 0);
            if constexpr (std::is_same_v<What, KernelSelect>) {
              if (copy.condition == nullptr) {
                copy.condition = indices_.constant(1);
              }
              add(copy);
            } else if constexpr (std::is_same_v<What, KernelLoad>) {
              if (never) {
                add(KernelFromIndex{copy.out, indices_.constant(0)});
              } else {
                add(copy);
              }
            } else if (!never) {
              add(copy);
            } else if constexpr (std::is_same_v<What, KernelPosition>) {
              add(KernelFromIndex{copy.out, indices_.constant(-1)});
            }
          } else {
            add(what);
          }
        },
        node.what);
  }

  IndexContext& indices_;
};

} // namespace

void splitLoopsAtConditions(Kernel& kernel) {
  Splitter splitter(kernel);
  for (KernelStage& stage : kernel.stages) {
    splitter.run(stage.body);
  }
}

} // namespace nvfuser
