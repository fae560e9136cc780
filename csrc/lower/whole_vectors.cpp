#include <lower/whole_vectors.h>

#include <lower/kernel_visit.h>

#include <set>

namespace nvfuser {

namespace {

// Elements: floats of a 512-bit vector; shorter ones divide it.
constexpr int64_t kVector = 16;

// Whether a second run over the same elements changes nothing but accumulations.
bool canRepeat(const KernelBody& body) {
  std::set<int> read;
  std::set<int> written;
  for (const auto& node : body) {
    if (const auto* load = std::get_if<KernelLoad>(&node->what)) {
      read.insert(load->buffer);
    } else if (const auto* store = std::get_if<KernelStore>(&node->what)) {
      written.insert(store->buffer);
    } else if (const auto* accumulate = std::get_if<KernelAccumulate>(&node->what)) {
      if (accumulate->index != nullptr) {
        return false;
      }
      written.insert(accumulate->buffer);
    } else if (
        std::holds_alternative<KernelLoop>(node->what) ||
        std::holds_alternative<KernelDeclare>(node->what) ||
        std::holds_alternative<KernelPosition>(node->what) ||
        std::holds_alternative<KernelTransposedCopy>(node->what)) {
      return false;
    }
  }
  for (int buffer : read) {
    if (written.contains(buffer)) {
      return false;
    }
  }
  return true;
}

class Completer {
 public:
  explicit Completer(Kernel& kernel) : indices_(kernel.indices) {}

  void run(KernelBody& body) {
    for (size_t i = 0; i < body.size(); ++i) {
      auto* loop = std::get_if<KernelLoop>(&body[i]->what);
      if (loop == nullptr) {
        continue;
      }
      const bool is_constant =
          isConstant(loop->stop) && (loop->start == nullptr || isConstant(loop->start));
      if (!is_constant || !canRepeat(loop->body)) {
        run(loop->body);
        continue;
      }
      const int64_t start = loop->start == nullptr ? 0 : loop->start->number;
      const int64_t length = loop->stop->number - start;
      const int64_t whole = start + length / kVector * kVector;
      if (length < kVector || length % kVector == 0) {
        continue;
      }
      auto last = lastVector(*loop, whole);
      loop->stop = indices_.constant(whole);
      body.insert(body.begin() + static_cast<int64_t>(i) + 1, std::move(last));
      ++i;
    }
  }

 private:
  std::unique_ptr<KernelNode> lastVector(const KernelLoop& loop, int64_t done) {
    KernelLoop last{
        loop.variable, loop.stop, loop.type, {}, indices_.constant(loop.stop->number - kVector)};
    for (const auto& node : loop.body) {
      last.body.push_back(copyOf(*node));
      if (auto* accumulate = std::get_if<KernelAccumulate>(&last.body.back()->what)) {
        Index is_new = indices_.ltUnbounded(indices_.constant(done - 1), loop.variable);
        accumulate->condition = indices_.both(accumulate->condition, is_new);
      }
    }
    return std::make_unique<KernelNode>(KernelNode{std::move(last)});
  }

  IndexContext& indices_;
};

} // namespace

void completeVectors(Kernel& kernel) {
  Completer completer(kernel);
  for (KernelStage& stage : kernel.stages) {
    completer.run(stage.body);
  }
}

} // namespace nvfuser
