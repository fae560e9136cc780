// Pointwise: the outer dimensions are the tasks, the inner ones, as far as they lie together in
// every tensor, the vectorised loop. The break point between the two is where a broadcast or a gap
// in memory begins.
#include <scheduler/schedule.h>

#include <ir/builder.h>

#include <algorithm>

namespace nvfuser {

namespace {

// Elements of one task: enough to hide its start, few enough to share out.
constexpr int64_t kTaskElements = 4096;

} // namespace

std::string whyNotPointwise(const SegmentShape& shape) {
  return shape.reductions().empty() ? "" : "the segment has reductions";
}

ScheduleResult schedulePointwise(
    Fusion& segment,
    const SegmentShape& shape,
    const ScheduleContext& context) {
  ScheduleResult result{"pointwise", ""};
  std::unordered_map<const Val*, bool> done;
  for (Val* out : segment.outputs()) {
    if (!done.emplace(out, true).second) {
      continue;
    }
    auto* tv = out->as<TensorView>();
    size_t reduced = 0;
    std::vector<IterDomain*> dims = shape.orderedDims(tv, reduced);
    if (dims.empty()) {
      continue;
    }
    // From the innermost outwards: what may be one loop with what lies inside of it.
    size_t inner_begin = dims.size() - 1;
    while (inner_begin > 0 && shape.mayMerge(dims[inner_begin - 1], dims[inner_begin])) {
      --inner_begin;
    }
    int64_t inner_elements = 1;
    for (size_t i = inner_begin; i < dims.size(); ++i) {
      inner_elements *= context.hint(dims[i]->extent());
    }
    IterDomain* inner = dims[inner_begin];
    for (size_t i = inner_begin + 1; i < dims.size(); ++i) {
      inner = IterDomain::merge(inner, dims[i]);
    }
    IterDomain* tasks = nullptr;
    for (size_t i = 0; i < inner_begin; ++i) {
      tasks = tasks == nullptr ? dims[i] : IterDomain::merge(tasks, dims[i]);
    }
    const bool cuts_inner = tasks == nullptr || inner_elements > 4 * kTaskElements;
    if (cuts_inner) {
      const auto [chunk, rest] = IterDomain::split(inner, IrBuilder::constInt(kTaskElements), true);
      tasks = tasks == nullptr ? chunk : IterDomain::merge(tasks, chunk);
      inner = rest;
    }
    tasks->parallelize(ParallelType::BIDx);
    std::vector<IterDomain*> loop = {tasks, inner};
    for (IterDomain* id : tv->getLogicalDomain()) {
      if (std::find(dims.begin(), dims.end(), id) == dims.end()) {
        loop.push_back(id);
      }
    }
    tv->setLoopDomain(std::move(loop));
    result.heuristics += detail::concat(
        result.heuristics.empty() ? "" : "; ",
        "T",
        tv->name(),
        ": break point ",
        inner_begin,
        cuts_inner ? detail::concat(", tasks of ", kTaskElements, " elements") : "");
  }
  return result;
}

} // namespace nvfuser
