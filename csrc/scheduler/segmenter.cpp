#include <scheduler/segmenter.h>

#include <analysis/logical_domain_map.h>
#include <ir/cloner.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace nvfuser {

namespace {

// Which dimensions the reductions of a group reduce.
using Signature = std::set<size_t>;

// Longest chain of nodes in one kernel: lowering walks it by recursion, and the compiler's time
// grows faster than the text.
constexpr int kLongestChain = 500;

enum class Kind {
  Kernel,
  Free, ///< a view, or a factory: computed where it is needed
  Library,
};

class Segmenter {
 public:
  Segmenter(const Fusion& fusion, const WhyNotInKernel& why_not)
      : fusion_(fusion), why_not_(why_not), domains_(fusion, BroadcastMapping::Together) {
    for (Expr* expr : fusion.exprs()) {
      const bool has_tensor =
          std::any_of(expr->outputs().begin(), expr->outputs().end(), [](const Val* v) {
            return v->isTensor();
          });
      if (has_tensor) {
        place_[expr] = exprs_.size();
        exprs_.push_back(expr);
      }
    }
  }

  std::vector<SegmentedGroup> run() {
    for (Expr* expr : exprs_) {
      classify(expr);
    }
    for (Expr* expr : exprs_) {
      if (kind_[expr] == Kind::Free) {
        chain_[expr] = chainBefore(expr, std::nullopt) + 1;
        views_[expr] = viewsBefore(expr) + 1;
        if (views_[expr] > kLongestChain) {
          kind_[expr] = Kind::Kernel;
        }
      }
      if (kind_[expr] != Kind::Free) {
        assign(expr);
      }
    }
    collect();
    recomputeCheapOperands();
    describe();
    return ordered();
  }

 private:
  struct Group {
    int level;
    Signature reduced;
    size_t parent;
    std::vector<Expr*> exprs;
  };

  void classify(Expr* expr) {
    const NodeTraits traits = expr->traits();
    std::string reason = why_not_(expr);
    const bool splits_here = traits.ends_segment;
    if (splits_here && reason.empty()) {
      reason = "the user asked for a segment of its own";
    }
    if (!reason.empty()) {
      kind_[expr] = Kind::Library;
      reason_[expr] = std::move(reason);
    } else {
      kind_[expr] = traits.view || traits.factory ? Kind::Free : Kind::Kernel;
    }
  }

  // The nodes that an operand's value comes from, seen through free ones.
  const std::vector<Expr*>& rootsOf(const Val* val) {
    static const std::vector<Expr*> kNone;
    Expr* definition = val->definition();
    if (definition == nullptr || !val->isTensor()) {
      return kNone;
    }
    auto [it, is_new] = roots_.try_emplace(val);
    if (!is_new) {
      return it->second;
    }
    std::vector<Expr*> found;
    if (kind_.at(definition) != Kind::Free) {
      found = {definition};
    } else {
      for (const Val* in : definition->inputs()) {
        const auto& more = rootsOf(in);
        found.insert(found.end(), more.begin(), more.end());
      }
    }
    return roots_[val] = std::move(found);
  }

  size_t find(size_t group) {
    while (groups_[group].parent != group) {
      groups_[group].parent = groups_[groups_[group].parent].parent;
      group = groups_[group].parent;
    }
    return group;
  }

  Signature signatureOf(const Expr* expr) const {
    Signature result;
    if (expr->traits().reduction) {
      for (IterDomain* id : expr->output(0)->as<TensorView>()->getLogicalDomain()) {
        if (id->isReduction()) {
          result.insert(domains_.sets().idOf(id));
        }
      }
    }
    return result;
  }

  // The longest chain of nodes that leads to `expr`; with `level`, in one level only.
  int chainBefore(const Expr* expr, std::optional<int> level) const {
    int longest = 0;
    for (const Val* in : expr->inputs()) {
      const Expr* definition = in->isTensor() ? in->definition() : nullptr;
      if (definition == nullptr || kind_.at(definition) == Kind::Library) {
        continue;
      }
      const bool is_free = kind_.at(definition) == Kind::Free;
      if (is_free || !level.has_value() || level_.at(definition) == *level) {
        longest = std::max(longest, chain_.at(definition));
      }
    }
    return longest;
  }

  // The same of views only.
  int viewsBefore(const Expr* expr) const {
    int longest = 0;
    for (const Val* in : expr->inputs()) {
      const Expr* definition = in->isTensor() ? in->definition() : nullptr;
      if (definition != nullptr && kind_.at(definition) == Kind::Free) {
        longest = std::max(longest, views_.at(definition));
      }
    }
    return longest;
  }

  // Levels count the changes between groups on the longest way to a node; a way never leads to a
  // lower level, so nodes of one level can run together without waiting for each other in a circle.
  void assign(Expr* expr) {
    const bool is_kernel = kind_[expr] == Kind::Kernel;
    int level = 0;
    std::vector<Expr*> operands;
    for (const Val* in : expr->inputs()) {
      const auto& found = rootsOf(in);
      operands.insert(operands.end(), found.begin(), found.end());
    }
    for (const Expr* operand : operands) {
      const bool joins = is_kernel && kind_.at(operand) == Kind::Kernel;
      level = std::max(level, level_.at(operand) + (joins ? 0 : 1));
    }
    Signature reduced = signatureOf(expr);
    std::set<size_t> joined;
    if (is_kernel) {
      Signature all = reduced;
      bool fits = true;
      for (const Expr* operand : operands) {
        if (level_.at(operand) != level || kind_.at(operand) != Kind::Kernel) {
          continue;
        }
        const size_t group = find(group_.at(operand));
        joined.insert(group);
        const Signature& other = groups_[group].reduced;
        fits = fits && (all.empty() || other.empty() || all == other);
        if (all.empty()) {
          all = other;
        }
      }
      if (fits) {
        reduced = all;
      } else {
        ++level;
        joined.clear();
        apart_[expr] = reduced.empty()
            ? "its operands come from reductions over different dimensions"
            : "it reduces other dimensions than the kernel that an operand comes from";
      }
    }
    chain_[expr] = chainBefore(expr, level) + 1;
    if (is_kernel && chain_[expr] > kLongestChain) {
      apart_[expr] = detail::concat("a chain of more than ", kLongestChain, " nodes is cut");
      ++level;
      joined.clear();
      reduced = signatureOf(expr);
      chain_[expr] = viewsBefore(expr) + 1;
    }
    size_t group = groups_.size();
    if (joined.empty()) {
      groups_.push_back({level, reduced, group, {}});
    } else {
      group = *joined.begin();
      groups_[group].reduced = reduced;
      for (size_t other : joined) {
        groups_[other].parent = group;
      }
    }
    group_[expr] = group;
    level_[expr] = level;
  }

  void collect() {
    for (Expr* expr : exprs_) {
      if (kind_[expr] != Kind::Free) {
        groups_[find(group_[expr])].exprs.push_back(expr);
      }
    }
  }

  // A value that is cheap to compute from a group's inputs is computed again rather than stored by
  // one kernel and read by another.
  void recomputeCheapOperands() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].parent != g || groups_[g].exprs.empty() ||
          kind_.at(groups_[g].exprs.front()) != Kind::Kernel) {
        continue;
      }
      std::set<Expr*> members(groups_[g].exprs.begin(), groups_[g].exprs.end());
      std::vector<Expr*> added;
      for (Expr* expr : groups_[g].exprs) {
        for (const Val* in : expr->inputs()) {
          for (Expr* root : rootsOf(in)) {
            std::vector<Expr*> chain;
            if (!members.contains(root) && isCheap(root, chain)) {
              for (Expr* link : chain) {
                if (members.insert(link).second) {
                  added.push_back(link);
                }
              }
            }
          }
        }
      }
      groups_[g].exprs.insert(groups_[g].exprs.end(), added.begin(), added.end());
      std::sort(groups_[g].exprs.begin(), groups_[g].exprs.end(), [&](Expr* a, Expr* b) {
        return place_.at(a) < place_.at(b);
      });
    }
  }

  // A short chain of pointwise nodes over tensors that exist anyway.
  bool isCheap(Expr* expr, std::vector<Expr*>& chain) {
    constexpr size_t kLongest = 8;
    std::vector<Expr*> stack = {expr};
    std::set<const Expr*> seen;
    while (!stack.empty()) {
      Expr* next = stack.back();
      stack.pop_back();
      if (!seen.insert(next).second) {
        continue;
      }
      if (kind_.at(next) != Kind::Kernel || !next->traits().pointwise || seen.size() > kLongest) {
        return false;
      }
      chain.push_back(next);
      for (const Val* in : next->inputs()) {
        if (in->isFusionOutput()) {
          continue;
        }
        for (Expr* root : rootsOf(in)) {
          if (kind_.at(root) == Kind::Kernel && !root->output(0)->isFusionOutput()) {
            stack.push_back(root);
          }
        }
      }
    }
    return true;
  }

  // Exprs of each group with the views that it computes for itself, its inputs and outputs.
  void describe() {
    std::vector<size_t> alive;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].parent == g && !groups_[g].exprs.empty()) {
        alive.push_back(g);
      }
    }
    // Needed from outside: outputs of the fusion, operands of other groups.
    for (size_t g : alive) {
      SegmentedGroup group;
      group.is_kernel = kind_.at(groups_[g].exprs.front()) == Kind::Kernel;
      if (!group.is_kernel) {
        group.reason = reason_.at(groups_[g].exprs.front());
      }
      std::set<Expr*> members(groups_[g].exprs.begin(), groups_[g].exprs.end());
      if (group.is_kernel) {
        addViews(members);
      }
      group.exprs.assign(members.begin(), members.end());
      sortByPlace(group.exprs);
      for (const Expr* expr : group.exprs) {
        const auto it = apart_.find(expr);
        if (it != apart_.end() && find(group_.at(expr)) == g) {
          group.apart.push_back(expr->output(0)->toString() + ": " + it->second);
        }
      }
      findInputs(group);
      result_.push_back(std::move(group));
      numbers_.push_back(g);
    }
    std::set<const Val*> needed(fusion_.outputs().begin(), fusion_.outputs().end());
    for (const SegmentedGroup& group : result_) {
      needed.insert(group.inputs.begin(), group.inputs.end());
    }
    addViewGroups(needed);
    for (size_t i = 0; i < result_.size(); ++i) {
      SegmentedGroup& group = result_[i];
      for (const Expr* expr : group.exprs) {
        // A view belongs to its own group, a value that is computed again to its first one.
        const bool is_own = kind_.at(expr) == Kind::Free
            ? i >= numbers_.size()
            : i < numbers_.size() && find(group_.at(expr)) == numbers_[i];
        for (Val* out : expr->outputs()) {
          if (is_own && out->isTensor() && needed.contains(out)) {
            group.outputs.push_back(out);
          }
        }
      }
    }
    std::erase_if(result_, [](const SegmentedGroup& group) { return group.outputs.empty(); });
  }

  void addViews(std::set<Expr*>& members) {
    std::vector<Expr*> stack(members.begin(), members.end());
    while (!stack.empty()) {
      Expr* expr = stack.back();
      stack.pop_back();
      for (const Val* in : expr->inputs()) {
        Expr* definition = in->isTensor() ? in->definition() : nullptr;
        if (definition != nullptr && kind_.at(definition) == Kind::Free &&
            members.insert(definition).second) {
          stack.push_back(definition);
        }
      }
    }
  }

  void findInputs(SegmentedGroup& group) const {
    std::set<const Val*> made;
    for (const Expr* expr : group.exprs) {
      made.insert(expr->outputs().begin(), expr->outputs().end());
    }
    std::set<const Val*> seen;
    for (const Expr* expr : group.exprs) {
      for (Val* in : expr->inputs()) {
        if (in->isTensor() && !made.contains(in) && seen.insert(in).second) {
          group.inputs.push_back(in);
        }
      }
    }
  }

  // Views and factories that a library or the caller needs, each a group of its own.
  void addViewGroups(std::set<const Val*>& needed) {
    for (auto it = exprs_.rbegin(); it != exprs_.rend(); ++it) {
      Expr* expr = *it;
      if (kind_.at(expr) != Kind::Free) {
        continue;
      }
      const auto& outs = expr->outputs();
      if (std::none_of(outs.begin(), outs.end(), [&](Val* v) { return needed.contains(v); })) {
        continue;
      }
      SegmentedGroup group;
      group.exprs = {expr};
      // Random numbers are work, unlike views and constants.
      group.is_kernel = expr->traits().factory && expr->hasAttribute("rng_id");
      group.reason = group.is_kernel ? "" : "a view";
      findInputs(group);
      needed.insert(group.inputs.begin(), group.inputs.end());
      result_.push_back(std::move(group));
    }
  }

  void sortByPlace(std::vector<Expr*>& exprs) const {
    std::sort(exprs.begin(), exprs.end(), [&](const Expr* a, const Expr* b) {
      return place_.at(a) < place_.at(b);
    });
  }

  // Groups whose inputs exist come first, in the order of the fusion.
  std::vector<SegmentedGroup> ordered() {
    std::unordered_map<const Val*, size_t> maker;
    for (size_t g = 0; g < result_.size(); ++g) {
      for (const Val* out : result_[g].outputs) {
        maker[out] = g;
      }
    }
    std::vector<std::set<size_t>> users(result_.size());
    std::vector<size_t> missing(result_.size(), 0);
    for (size_t g = 0; g < result_.size(); ++g) {
      for (const Val* in : result_[g].inputs) {
        const auto it = maker.find(in);
        if (it != maker.end() && users[it->second].insert(g).second) {
          ++missing[g];
        }
      }
    }
    std::set<std::pair<size_t, size_t>> ready;
    const auto key = [&](size_t g) {
      return std::make_pair(place_.at(result_[g].exprs.back()), g);
    };
    for (size_t g = 0; g < result_.size(); ++g) {
      if (missing[g] == 0) {
        ready.insert(key(g));
      }
    }
    std::vector<SegmentedGroup> result;
    while (!ready.empty()) {
      const size_t g = ready.begin()->second;
      ready.erase(ready.begin());
      for (size_t user : users[g]) {
        if (--missing[user] == 0) {
          ready.insert(key(user));
        }
      }
      result.push_back(std::move(result_[g]));
    }
    NVF_ERROR(result.size() == result_.size(), "segments wait for each other in a circle");
    return result;
  }

  const Fusion& fusion_;
  const WhyNotInKernel& why_not_;
  LogicalDomainMap domains_;
  std::vector<Expr*> exprs_;
  std::unordered_map<const Expr*, Kind> kind_;
  std::unordered_map<const Expr*, std::string> reason_;
  std::unordered_map<const Expr*, std::string> apart_;
  std::unordered_map<const Expr*, size_t> place_;
  std::unordered_map<const Val*, std::vector<Expr*>> roots_;
  std::vector<Group> groups_;
  std::unordered_map<const Expr*, size_t> group_;
  std::unordered_map<const Expr*, int> level_;
  std::unordered_map<const Expr*, int> chain_; ///< nodes on the longest way through kernels
  std::unordered_map<const Expr*, int> views_; ///< of these, views and factories at the end
  std::vector<SegmentedGroup> result_;
  std::vector<size_t> numbers_; ///< of the groups that result_ begins with
};

} // namespace

std::vector<SegmentedGroup> segmentFusion(const Fusion& fusion, const WhyNotInKernel& why_not) {
  return Segmenter(fusion, why_not).run();
}

std::unique_ptr<Fusion> extractGroup(
    const SegmentedGroup& group,
    std::unordered_map<const Val*, const Val*>& scalars) {
  auto segment = std::make_unique<Fusion>();
  FusionGuard guard(segment.get());
  IrCloner cloner(segment.get());
  for (const Val* in : group.inputs) {
    segment->addInput(cloner.clone(in));
  }
  std::set<const Expr*> transforms;
  for (const Expr* expr : group.exprs) {
    cloner.clone(expr);
    for (const Val* out : expr->outputs()) {
      const auto* tv = dynamic_cast<const TensorView*>(out);
      if (tv == nullptr) {
        continue;
      }
      const auto copy = [&](const std::vector<IterDomain*>& from,
                            const std::vector<IterDomain*>& to) {
        for (const Expr* transform : transformsBetween(from, to)) {
          if (transforms.insert(transform).second) {
            cloner.clone(transform);
          }
        }
      };
      copy(tv->getMaybeRootDomain(), tv->getLogicalDomain());
      copy(tv->getLogicalDomain(), tv->getLoopDomain());
    }
  }
  for (const Val* out : group.outputs) {
    Val* copy = cloner.clone(out);
    segment->addOutput(copy);
    // The kernel makes it, without gaps.
    auto* tv = copy->as<TensorView>();
    tv->setContiguity(contiguityFilledWith(tv->getMaybeAllocationDomain(), true));
  }
  for (const auto& [original, copy] : cloner.map()) {
    if (copy->isScalar() && !copy->isConst()) {
      scalars[copy] = original;
    }
  }
  return segment;
}

} // namespace nvfuser
