#include <scheduler/schedule.h>

#include <analysis/id_model.h>
#include <analysis/logical_domain_map.h>
#include <ir/nodes.h>
#include <ir/traversal.h>

#include <algorithm>
#include <set>

namespace nvfuser {

namespace {

bool runs(const IterDomain* id) {
  return !id->isBroadcast() && !id->extent()->isOneInt();
}

// Inputs and outputs: what lies in memory.
std::vector<const TensorView*> tensorsInMemory(const Fusion& segment) {
  std::vector<const TensorView*> result;
  for (const auto* list : {&segment.inputs(), &segment.outputs()}) {
    for (const Val* val : *list) {
      if (val->isTensor()) {
        result.push_back(val->as<TensorView>());
      }
    }
  }
  return result;
}

} // namespace

SegmentShape::SegmentShape(Fusion& segment) : segment_(segment) {
  IdModel model(&segment);
  const auto& sets = model.maybeBuildGraph(IdMappingMode::Permissive).disjointValSets();
  for (IterDomain* id : sets.items()) {
    const size_t set = sets.idOf(id);
    sets_[id] = set;
    reduced_sets_.resize(std::max(reduced_sets_.size(), set + 1));
  }
  findMoved();
  for (const TensorView* tv : tensorsInMemory(segment)) {
    memory_.emplace_back();
    const auto& allocation = tv->getMaybeAllocationDomain();
    for (size_t i = 0; i < allocation.size(); ++i) {
      if (!allocation[i]->isReduction() && runs(allocation[i])) {
        memory_.back().push_back(
            {setOf(allocation[i]), tv->domain()->contiguity()[i].value_or(false)});
      }
    }
  }
  const TensorView* reference = nullptr;
  const auto consider = [&](const TensorView* tv) {
    const auto count = [](const TensorView* t) {
      const auto& domain = t->getLogicalDomain();
      return std::count_if(domain.begin(), domain.end(), runs);
    };
    if (reference == nullptr || count(tv) > count(reference)) {
      reference = tv;
    }
  };
  for (const Expr* expr : segment.exprs()) {
    if (!expr->traits().reduction) {
      continue;
    }
    auto* tv = expr->output(0)->as<TensorView>();
    reductions_.push_back(tv);
    consider(tv);
    for (IterDomain* id : tv->getLogicalDomain()) {
      if (id->isReduction()) {
        reduced_sets_[setOf(id)] = true;
      }
    }
  }
  if (reference == nullptr) {
    for (const Val* out : segment.outputs()) {
      consider(out->as<TensorView>());
    }
  }
  if (reference != nullptr) {
    for (IterDomain* id : reference->getLogicalDomain()) {
      rank_.emplace(setOf(id), rank_.size());
    }
  }
  findReshapedReduced();
}

void SegmentShape::findReshapedReduced() {
  from_reduced_ = reduced_sets_;
  if (reductions_.empty()) {
    return;
  }
  for (const Expr* expr : segment_.exprs()) {
    for (const Val* val : expr->outputs()) {
      const auto* out = dynamic_cast<const TensorView*>(val);
      if (out == nullptr || !out->hasRoot() || expr->traits().reduction) {
        continue;
      }
      for (const Expr* transform :
           transformsBetween(out->getMaybeRootDomain(), out->getLogicalDomain())) {
        bool any = false;
        bool all = true;
        for (const Val* in : transform->inputs()) {
          auto* id = dynamic_cast<IterDomain*>(const_cast<Val*>(in));
          if (id != nullptr && runs(id)) {
            any = any || from_reduced_[setOf(id)];
            all = all && from_reduced_[setOf(id)];
          }
        }
        for (const Val* made : transform->outputs()) {
          if (any && all) {
            from_reduced_[setOf(const_cast<Val*>(made)->as<IterDomain>())] = true;
          }
        }
      }
    }
  }
}

void SegmentShape::findMoved() {
  moved_sets_.resize(reduced_sets_.size());
  for (const Expr* expr : segment_.exprs()) {
    for (const Val* val : expr->outputs()) {
      const auto* out = val->as<TensorView>();
      std::set<const IterDomain*> mapped;
      bool has_operand = false;
      for (const Val* in : expr->inputs()) {
        if (in->isTensor()) {
          has_operand = true;
          const PairwiseLogicalDomainMap map(in->as<TensorView>(), out);
          for (const auto& [from, to] : map.pairs()) {
            mapped.insert(to);
          }
        }
      }
      for (IterDomain* id : out->getMaybeRootDomain()) {
        if (has_operand && runs(id) && !mapped.contains(id)) {
          moved_sets_[setOf(id)] = true;
        }
      }
      for (IterDomain* id : out->getLogicalDomain()) {
        if (const auto* resize = dynamic_cast<const Resize*>(id->definition())) {
          moved_sets_[setOf(id)] = true;
          moved_sets_[setOf(resize->in())] = true;
        }
      }
    }
  }
}

bool SegmentShape::isMoved(IterDomain* id) const {
  return moved_sets_[setOf(id)];
}

size_t SegmentShape::setOf(IterDomain* id) const {
  return sets_.at(id);
}

bool SegmentShape::isReduced(IterDomain* id) const {
  return id->isReduction() || reduced_sets_[setOf(id)];
}

std::vector<IterDomain*> SegmentShape::orderedDims(const TensorView* tv, size_t& reduced) const {
  std::vector<IterDomain*> dims;
  // In the order of memory, where the tensor has one of its own.
  std::vector<IterDomain*> domain = tv->getLogicalDomain();
  if (tv->hasAllocation() && reductions_.empty()) {
    domain = tv->getMaybeAllocationDomain();
  }
  for (IterDomain* id : domain) {
    if (runs(id)) {
      dims.push_back(id);
    }
  }
  const auto key = [&](IterDomain* id) {
    const auto it = rank_.find(setOf(id));
    return std::make_pair(
        isReduced(id), it == rank_.end() || reductions_.empty() ? rank_.size() : it->second);
  };
  if (!reductions_.empty()) {
    std::stable_sort(
        dims.begin(), dims.end(), [&](IterDomain* a, IterDomain* b) { return key(a) < key(b); });
  }
  reduced = static_cast<size_t>(
      std::count_if(dims.begin(), dims.end(), [&](IterDomain* id) { return isReduced(id); }));
  return dims;
}

bool SegmentShape::mayMerge(IterDomain* outer, IterDomain* inner) const {
  if (isMoved(outer) || isMoved(inner)) {
    return false;
  }
  for (const auto& dims : memory_) {
    bool has_outer = false;
    bool has_inner = false;
    bool adjacent = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      has_outer = has_outer || dims[i].set == setOf(outer);
      if (dims[i].set == setOf(inner)) {
        has_inner = true;
        adjacent = i > 0 && dims[i - 1].joined && dims[i - 1].set == setOf(outer);
      }
    }
    if (has_outer != has_inner || (has_outer && !adjacent)) {
      return false;
    }
  }
  return true;
}

ScheduleResult keepSchedule(Fusion& segment) {
  FusionGuard guard(&segment);
  for (TensorView* tv : segment.tensorViews()) {
    const bool has_loops =
        tv->definition() == nullptr || tv->isFusionOutput() || tv->definition()->traits().reduction;
    tv->setInlined(!has_loops && (tv->isInlined() || tv->computeAtPosition() == tv->nLoopDims()));
  }
  // The tasks of a stage do not see each other's partial results.
  for (TensorView* tv : segment.tensorViews()) {
    for (IterDomain* id : tv->getLoopDomain()) {
      if (id->isReduction() && id->parallelType() == ParallelType::BIDx) {
        id->parallelize(ParallelType::Serial);
      }
    }
  }
  return {"user", "the schedule of the definition"};
}

void inlineWhatNeedsNoLoops(Fusion& segment) {
  for (TensorView* tv : segment.tensorViews()) {
    const bool has_loops =
        tv->definition() == nullptr || tv->isFusionOutput() || tv->definition()->traits().reduction;
    tv->setInlined(!has_loops);
  }
}

ScheduleResult scheduleSegment(Fusion& segment, const ScheduleContext& context) {
  FusionGuard guard(&segment);
  inlineWhatNeedsNoLoops(segment);
  const SegmentShape shape(segment);
  const std::string not_transpose = whyNotTranspose(segment, shape);
  if (not_transpose.empty()) {
    return scheduleTranspose(segment, shape);
  }
  const std::string not_pointwise = whyNotPointwise(shape);
  if (not_pointwise.empty()) {
    ScheduleResult result = schedulePointwise(segment, shape, context);
    result.refused = {{"transpose", not_transpose}};
    return result;
  }
  const std::string not_reduction = whyNotReduction(shape);
  if (not_reduction.empty()) {
    ScheduleResult result = scheduleReduction(segment, shape, context);
    result.refused = {{"transpose", not_transpose}, {"pointwise", not_pointwise}};
    return result;
  }
  NVF_CHECK(
      false,
      "no scheduler takes the segment; pointwise: ",
      not_pointwise,
      "; reduction: ",
      not_reduction);
  return {};
}

} // namespace nvfuser
