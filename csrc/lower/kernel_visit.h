// What the passes over kernel IR share: visiting the indices and values of a node, copying a node.
#pragma once

#include <ir/exceptions.h>
#include <lower/kernel.h>

namespace nvfuser {

/// Calls f(Index&) for every index of the node itself (not of those inside a loop); nullptr too.
template <typename F>
void forEachIndex(KernelNode& node, const F& f) {
  std::visit(
      [&](auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, KernelTransposedCopy>) {
          for (Index* index :
               {&what.source_index,
                &what.source_stride,
                &what.target_index,
                &what.target_stride,
                &what.rows,
                &what.columns}) {
            f(*index);
          }
        }
        if constexpr (std::is_same_v<What, KernelLoop>) {
          f(what.start);
          f(what.stop);
        }
        if constexpr (requires { what.index; }) {
          f(what.index);
        }
        if constexpr (requires { what.condition; }) {
          f(what.condition);
        }
        if constexpr (requires { what.extent; }) {
          f(what.extent);
        }
        if constexpr (requires { what.element; }) {
          f(what.element);
        }
      },
      node.what);
}

/// Calls f(KernelValue&) for every value that the node sets or reads.
template <typename F>
void forEachValue(KernelNode& node, const F& f) {
  std::visit(
      [&](auto& what) {
        if constexpr (requires { what.out; }) {
          f(what.out);
        }
        if constexpr (requires { what.value; }) {
          f(what.value);
        }
        if constexpr (requires { what.yes; }) {
          f(what.yes);
          f(what.no);
        }
        if constexpr (requires { what.operands; }) {
          for (KernelValue& operand : what.operands) {
            f(operand);
          }
        }
      },
      node.what);
}

/// A copy of a node that is no loop.
inline std::unique_ptr<KernelNode> copyOf(const KernelNode& node) {
  return std::visit(
      [](const auto& what) -> std::unique_ptr<KernelNode> {
        if constexpr (std::is_same_v<std::decay_t<decltype(what)>, KernelLoop>) {
          NVF_ERROR(false, "a loop is copied");
          return nullptr;
        } else {
          return std::make_unique<KernelNode>(KernelNode{what});
        }
      },
      node.what);
}

} // namespace nvfuser
