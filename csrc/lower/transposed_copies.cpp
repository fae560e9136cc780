#include <lower/transposed_copies.h>

#include <ir/exceptions.h>

namespace nvfuser {

namespace {

bool contains(Index index, Index part) {
  return index != nullptr &&
      (index == part || contains(index->a, part) || contains(index->b, part));
}

// index = factor * variable + rest
struct Linear {
  Index factor;
  Index rest;
};

class Finder {
 public:
  explicit Finder(Kernel& kernel) : kernel_(kernel), indices_(kernel.indices) {}

  void run(KernelBody& body) {
    for (auto& node : body) {
      auto* loop = std::get_if<KernelLoop>(&node->what);
      if (loop == nullptr) {
        continue;
      }
      if (const auto copy = asCopy(*loop); copy.has_value()) {
        node->what = *copy;
      } else {
        run(loop->body);
      }
    }
  }

 private:
  std::optional<Linear> linearIn(Index index, Index variable) {
    if (index == variable) {
      return Linear{indices_.constant(1), indices_.constant(0)};
    }
    if (!contains(index, variable)) {
      return Linear{indices_.constant(0), index};
    }
    if (index->op != IndexOp::Add && index->op != IndexOp::Mul) {
      return std::nullopt;
    }
    const auto a = linearIn(index->a, variable);
    const auto b = linearIn(index->b, variable);
    if (!a.has_value() || !b.has_value()) {
      return std::nullopt;
    }
    if (index->op == IndexOp::Add) {
      return Linear{indices_.add(a->factor, b->factor), indices_.add(a->rest, b->rest)};
    }
    const bool in_a = contains(index->a, variable);
    if (in_a && contains(index->b, variable)) {
      return std::nullopt;
    }
    const Linear& sum = in_a ? *a : *b;
    Index times = in_a ? index->b : index->a;
    return Linear{indices_.mul(sum.factor, times), indices_.mul(sum.rest, times)};
  }

  std::optional<KernelTransposedCopy> asCopy(const KernelLoop& outer) {
    const auto* inner =
        outer.body.size() == 1 ? std::get_if<KernelLoop>(&outer.body[0]->what) : nullptr;
    const bool is_plain = inner != nullptr && outer.start == nullptr && inner->start == nullptr &&
        inner->body.size() == 2 && !contains(inner->stop, outer.variable);
    if (!is_plain) {
      return std::nullopt;
    }
    const auto* load = std::get_if<KernelLoad>(&inner->body[0]->what);
    const auto* store = std::get_if<KernelStore>(&inner->body[1]->what);
    if (load == nullptr || store == nullptr || load->condition != nullptr ||
        store->condition != nullptr || load->index == nullptr || store->index == nullptr) {
      return std::nullopt;
    }
    const DataType dtype = kernel_.buffers[load->buffer].dtype;
    const bool only_copies = (store->value <=> load->out) == 0 && load->out.dtype == dtype &&
        kernel_.buffers[store->buffer].dtype == dtype;
    if (!only_copies) {
      return std::nullopt;
    }
    const auto read = strides(load->index, outer.variable, inner->variable);
    const auto written = strides(store->index, outer.variable, inner->variable);
    const bool is_transposed = read.has_value() && written.has_value() &&
        isConstant(read->inner, 1) && isConstant(written->outer, 1);
    if (!is_transposed) {
      return std::nullopt;
    }
    return KernelTransposedCopy{
        load->buffer,
        read->base,
        read->outer,
        store->buffer,
        written->base,
        written->inner,
        inner->stop,
        outer.stop};
  }

  struct Strides {
    Index base;
    Index outer;
    Index inner;
  };
  std::optional<Strides> strides(Index index, Index outer, Index inner) {
    const auto by_inner = linearIn(index, inner);
    if (!by_inner.has_value() || contains(by_inner->factor, outer)) {
      return std::nullopt;
    }
    const auto by_outer = linearIn(by_inner->rest, outer);
    if (!by_outer.has_value()) {
      return std::nullopt;
    }
    return Strides{by_outer->rest, by_outer->factor, by_inner->factor};
  }

  Kernel& kernel_;
  IndexContext& indices_;
};

} // namespace

void findTransposedCopies(Kernel& kernel) {
  Finder finder(kernel);
  for (KernelStage& stage : kernel.stages) {
    finder.run(stage.body);
  }
}

} // namespace nvfuser
