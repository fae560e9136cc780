// What the printers of all targets share: scopes, indices, registers and single operations.
#pragma once

#include <lower/kernel.h>

#include <map>
#include <string>
#include <vector>

namespace nvfuser {

/// Whether `part` occurs in the index.
bool dependsOn(Index index, Index part);
/// Whether the next round's element is the next one in memory.
bool isConsecutive(Index index, Index variable);
/// Whether the index is computed from loaded values.
bool dependsOnRegister(Index index);

class KernelPrinter {
 public:
  virtual ~KernelPrinter() = default;

 protected:
  /// How a target writes indices.
  struct IndexStyle {
    std::string type;     ///< of an index
    std::string suffix;   ///< of a constant
    bool divides_by_zero; ///< where nobody needs the quotient
  };
  KernelPrinter(const Kernel& kernel, IndexStyle style)
      : kernel_(kernel), style_(std::move(style)) {}

  /// Writes one node into the innermost scope.
  virtual void node(const KernelNode& node) = 0;
  /// x / d, or x % d, of numbers that are not negative, in a way of the target's own; empty: the
  /// language's operator.
  virtual std::string division(
      Index /*index*/,
      const std::string& /*a*/,
      const std::string& /*b*/) {
    return "";
  }
  /// The arguments by which a kernel reports that `expr` divides by zero; empty: it does not.
  virtual std::string divisionReport(const Expr* expr) const = 0;

  // --- scopes: one for each loop that is open ---
  int here() const {
    return static_cast<int>(scopes_.size()) - 1;
  }
  std::string& out() {
    return scopes_.back().text;
  }
  void line(const std::string& text);
  /// The text of a body in a scope of its own.
  std::string closed(const KernelBody& body);
  void openScope();
  std::string finishedScope();
  void nodes(const KernelBody& body);
  std::string indent() const;

  // --- texts ---
  std::string indexText(Index index);
  std::string text(const KernelValue& value) const;
  void define(const KernelValue& value, const std::string& text);
  /// The number by which the launch knows the node.
  std::string numberOf(const Expr* expr) const;
  static bool isHandedIn(const KernelBuffer& buffer);
  /// The first word of the first random source.
  size_t randomWords() const;
  /// The parameters and scalars of the kernel, taken from the array `words`. `bits`: the text that
  /// makes a double of a word.
  std::string wordDefinitions(const std::string& words, const std::string& bits) const;

  void print(const KernelCompute& compute);
  void print(const KernelSelect& select);
  void print(const KernelFromIndex& from);
  void print(const KernelPosition& position);

  const Kernel& kernel_;

 private:
  struct Scope {
    std::string definitions; ///< of indices, at the head of the body
    std::map<Index, std::string> names;
    std::string text;
  };
  std::string definedOutside(Index index);
  std::string operationAt(Index index, int depth);
  std::string operation(Index index);
  std::string combined(Index index, const std::string& a, const std::string& b);

  IndexStyle style_;
  std::vector<Scope> scopes_;
  int next_index_ = 0;
};

} // namespace nvfuser
