// Disjoint sets of things, joined by union; iteration in the order in which things were added.
//
// Folder csrc/analysis: questions about a fusion that change nothing. It may include csrc/ir and
// csrc/ops.
#pragma once

#include <ir/exceptions.h>

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace nvfuser {

/// Union-find over hashable values. A set is named by its id, which changes when sets are joined.
template <typename T>
class DisjointSets {
 public:
  /// Adds `x` as a set of its own, unless it is there. True when it was added.
  bool add(const T& x) {
    const auto [it, added] = index_.emplace(x, items_.size());
    if (added) {
      items_.push_back(x);
      parent_.push_back(it->second);
      members_.push_back({x});
    }
    return added;
  }

  bool contains(const T& x) const {
    return index_.find(x) != index_.end();
  }

  /// Joins the sets of `a` and `b` (adding both). True when they were two. The older set gives its
  /// id.
  bool join(const T& a, const T& b) {
    add(a);
    add(b);
    size_t ra = find(index_.at(a));
    size_t rb = find(index_.at(b));
    if (ra == rb) {
      return false;
    }
    if (ra > rb) {
      std::swap(ra, rb);
    }
    parent_[rb] = ra;
    members_[ra].insert(members_[ra].end(), members_[rb].begin(), members_[rb].end());
    members_[rb].clear();
    return true;
  }

  /// The id of the set of `x`, which must have been added.
  size_t idOf(const T& x) const {
    return find(index_.at(x));
  }
  const std::vector<T>& membersOf(const T& x) const {
    return members_[idOf(x)];
  }
  const std::vector<T>& members(size_t id) const {
    return members_[id];
  }

  /// False when one of the two was never added.
  bool areMapped(const T& a, const T& b) const {
    return contains(a) && contains(b) && idOf(a) == idOf(b);
  }

  /// As areMapped; RuntimeError when one of the two was never added.
  bool strictAreMapped(const T& a, const T& b) const {
    NVF_CHECK(contains(a) && contains(b), "a domain that is compared is in no set of this graph");
    return idOf(a) == idOf(b);
  }

  /// Ids of all sets, in the order of their first members.
  std::vector<size_t> ids() const {
    std::vector<size_t> result;
    for (size_t i = 0; i < parent_.size(); ++i) {
      if (parent_[i] == i) {
        result.push_back(i);
      }
    }
    return result;
  }

  /// Everything that was added, in order.
  const std::vector<T>& items() const {
    return items_;
  }

 private:
  size_t find(size_t i) const {
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }

  std::unordered_map<T, size_t> index_;
  std::vector<T> items_;
  mutable std::vector<size_t> parent_;
  std::vector<std::vector<T>> members_;
};

} // namespace nvfuser
