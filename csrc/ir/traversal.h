// Walking the graph: the dependencies of values, and rewriting of values.
#pragma once

#include <ir/statement.h>

#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace nvfuser {

class IterDomain;

/// Expressions that `to` depends on, producers first (depth-first post-order, operands left to
/// right). The walk does not go beyond a value of `from`. Without recursion: graphs may be
/// thousands deep.
std::vector<Expr*> exprsTo(const std::vector<Val*>& to, const std::vector<Val*>& from = {});

/// All values that `to` depends on, `to` included, producers first.
std::vector<Val*> dependenciesOf(const std::vector<Val*>& to);

/// All values that depend on one of `from` and lead to `to`, `from` included.
std::unordered_set<Val*> valsBetween(const std::vector<Val*>& from, const std::vector<Val*>& to);

/// The transforms that lead from `from` to `to` (Split, Merge, ...), in order of application.
std::vector<Expr*> transformsBetween(
    const std::vector<IterDomain*>& from,
    const std::vector<IterDomain*>& to);

/// Repeats the transforms that lead from `from` to `to` on other domains. `map` holds the
/// replacement of each domain of `from` and receives that of every domain made on the way.
void replayTransforms(
    const std::vector<Expr*>& transforms,
    std::unordered_map<IterDomain*, IterDomain*>& map);

/// Calls `visit` on every expression that the fusion's outputs depend on, producers first.
void forEachExpr(const Fusion& fusion, const std::function<void(Expr*)>& visit);

} // namespace nvfuser
