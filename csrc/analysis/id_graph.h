// The ID graph: sets of IterDomains that are one dimension (nodes), and sets of equal transforms
// between them (edges). Indices, predicates and schedules are found by walking it.
#pragma once

#include <analysis/disjoint_sets.h>
#include <ir/iter_domain.h>

#include <unordered_map>
#include <vector>

namespace nvfuser {

class TensorView;

/// Exact: one dimension with one set of indices. AlmostExact: also through splits and merges in
/// which one side has size 1. Broadcast: exact, and a broadcast with what it is broadcast to.
/// Permissive: both. Loop: one loop, because one of the tensors is inlined into the other.
enum class IdMappingMode { Exact, AlmostExact, Broadcast, Permissive, Loop };

class ValGraph {
 public:
  /// With `trivial_transforms`, a transform that keeps a domain as it is (merge with a size of 1,
  /// split by 1 or by the whole extent, resize by 0) maps its input to its output.
  explicit ValGraph(bool trivial_transforms = false) : trivial_transforms_(trivial_transforms) {}

  const DisjointSets<IterDomain*>& disjointValSets() const {
    return ids_;
  }
  const DisjointSets<Expr*>& disjointExprSets() const {
    return transforms_;
  }

  void addId(IterDomain* id) {
    ids_.add(id);
  }
  /// Adds a transform and its domains.
  void addTransform(Expr* transform);
  /// Adds what leads from the root domain to every other domain of `tv`.
  void addTensor(const TensorView* tv);

  /// Maps two domains without drawing conclusions; propagate() draws them.
  void join(IterDomain* a, IterDomain* b) {
    ids_.join(a, b);
  }
  /// Equal transforms of mapped domains map their outputs; equal transforms with mapped outputs map
  /// their inputs where these have equal extents. Repeated until nothing changes.
  void propagate();
  /// Maps two domains and everything that follows from it.
  void mapVals(IterDomain* a, IterDomain* b) {
    join(a, b);
    propagate();
  }

  /// Transforms (one of each set) that take a domain of this set as input, or give it.
  const std::vector<Expr*>& usesOf(size_t id_set) const;
  const std::vector<Expr*>& definitionsOf(size_t id_set) const;

  /// One line a set: "{iS0{i0}, iS4{i0}}". Sets of one domain are left out.
  std::string toString() const;

 private:
  void rebuildEdges();

  bool trivial_transforms_;
  DisjointSets<IterDomain*> ids_;
  DisjointSets<Expr*> transforms_;
  std::unordered_map<size_t, std::vector<Expr*>> uses_;
  std::unordered_map<size_t, std::vector<Expr*>> definitions_;
};

/// A step along an edge: forward from the inputs of the transform to its outputs, or backward.
struct IdStep {
  Expr* transform;
  bool forward;
};

struct IdPath {
  /// In order; each step starts from domains of `from` or from those of an earlier step.
  std::vector<IdStep> steps;
  /// Domains of `to` that cannot be reached.
  std::vector<IterDomain*> unreached;
};

/// The shortest way (breadth first) from the sets of `from` to those of `to`. A forward step needs
/// all inputs of the transform, a backward step all outputs. Only steps that lead to `to` are kept.
IdPath findIdPath(
    const ValGraph& graph,
    const std::vector<IterDomain*>& from,
    const std::vector<IterDomain*>& to);

/// The domains among a transform's inputs or outputs (factors and widths left out).
std::vector<IterDomain*> domainsOf(const std::vector<Val*>& vals);

} // namespace nvfuser
