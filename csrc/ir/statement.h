// Statement, Val and Expr: what every node of the IR is.
//
// A Val is a value (scalar, IterDomain, TensorDomain or TensorView), an Expr produces Vals from
// Vals. Nodes are owned by one Fusion, created through IrBuilder, and never move. An Expr holds
// operands by name and attributes by name, so that cloning, comparing, hashing, printing and
// replaying are written once; what differs between nodes they answer themselves (traits,
// mapDomains, pythonCall).
#pragma once

#include <ir/exceptions.h>
#include <ir/scalar_value.h>
#include <ir/type.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace nvfuser {

class DomainMapper;
class Expr;
class Fusion;
class IrBuilder;
class Val;

/// Proof that a node is being made by IrBuilder (or the cloner), and for which fusion.
class IrBuilderPasskey {
 public:
  Fusion* fusion() const {
    return fusion_;
  }

 private:
  friend class IrBuilder;
  friend class IrCloner;
  explicit IrBuilderPasskey(Fusion* fusion) : fusion_(fusion) {}
  Fusion* fusion_;
};

class Statement {
 public:
  explicit Statement(IrBuilderPasskey key) : fusion_(key.fusion()) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  virtual ~Statement() = default;

  Fusion* fusion() const {
    return fusion_;
  }
  /// Running number among the nodes of its kind.
  int64_t name() const {
    return name_;
  }

  template <typename T>
  bool isA() const {
    return dynamic_cast<const T*>(this) != nullptr;
  }
  template <typename T>
  T* as() {
    auto* result = dynamic_cast<T*>(this);
    NVF_ERROR(result != nullptr, "wrong node class for ", toString());
    return result;
  }
  template <typename T>
  const T* as() const {
    return const_cast<Statement*>(this)->as<T>();
  }

  virtual std::string toString() const = 0;
  /// The text when used inside another node's text; scalars print their whole expression.
  virtual std::string toInlineString() const {
    return toString();
  }

 protected:
  friend class Fusion;
  Fusion* fusion_;
  int64_t name_ = -1;
};

/// A value. Scalars are plain Vals: constant (a value), symbolic (no definition) or computed.
class Val : public Statement {
 public:
  Val(IrBuilderPasskey key, ValKind kind, DataType dtype);
  /// A symbolic scalar.
  Val(IrBuilderPasskey key, DataType dtype);
  /// A constant scalar; the value is cast to `dtype`.
  Val(IrBuilderPasskey key, const ScalarValue& value, DataType dtype);

  ValKind kind() const {
    return kind_;
  }
  DataType dtype() const {
    return dtype_;
  }
  bool isScalar() const {
    return kind_ == ValKind::Scalar;
  }
  bool isTensor() const {
    return kind_ == ValKind::TensorView;
  }
  /// monostate unless this is a constant scalar.
  const ScalarValue& value() const {
    return value_;
  }
  bool isConst() const {
    return hasValue(value_);
  }
  bool isConstInt() const;
  /// Constant integer equal to `i`.
  bool isConstInt(int64_t i) const;
  bool isZeroInt() const {
    return isConstInt(0);
  }
  bool isOneInt() const {
    return isConstInt(1);
  }
  /// The value as int64_t; internal error when it is not constant.
  int64_t constInt() const;

  Expr* definition() const {
    return definition_;
  }
  const std::vector<Expr*>& uses() const {
    return uses_;
  }
  bool isFusionInput() const {
    return is_fusion_input_;
  }
  bool isFusionOutput() const {
    return is_fusion_output_;
  }

  /// Same value by structure: the same node, equal constants, or equal expressions of equal
  /// operands. Expressions nested deeper than ten are not compared, and count as different.
  virtual bool sameAs(const Val* other) const;

  std::string toString() const override;
  std::string toInlineString() const override;

 protected:
  friend class Fusion;
  friend class Expr;
  friend class IrCloner;
  ValKind kind_;
  DataType dtype_;
  ScalarValue value_;
  Expr* definition_ = nullptr;
  std::vector<Expr*> uses_;
  bool is_fusion_input_ = false;
  bool is_fusion_output_ = false;
};

/// A named operand; an absent optional operand has val == nullptr.
struct Operand {
  std::string_view name;
  Val* val;
};

using Attribute = std::
    variant<bool, int64_t, double, std::string, DataType, std::vector<int64_t>, std::vector<bool>>;

struct NamedAttribute {
  std::string_view name;
  Attribute value;
};

std::string attributeText(const Attribute& attribute);

/// What makes up an Expr; names are string literals, so that string_view is safe.
struct ExprParts {
  std::vector<Operand> operands;
  std::vector<Val*> outputs;
  std::vector<NamedAttribute> attributes;
};

/// What generic code may ask of a node, instead of knowing its class.
struct NodeTraits {
  /// Every output element depends on the elements at the same place of the operands.
  bool pointwise = false;
  /// The outputs have the operands' domains position by position (after broadcasting).
  bool outputs_share_domain = false;
  bool reduction = false;
  /// Draws random numbers: two equal expressions are not the same value.
  bool random = false;
  /// No effect but its outputs; a random node is not pure.
  bool pure = true;
  /// Begins a segment of its own, evaluated by a library kernel.
  bool opens_segment = false;
  /// Ends the segment of its producer (segment_set).
  bool ends_segment = false;
  /// Output 0 only renames the elements of the first operand: ATen returns a view where it can.
  bool view = false;
  /// Output 0 has the first operand's elements in the same row-major order under another shape: its
  /// transforms follow from the two shapes alone (reshape).
  bool row_major_view = false;
  /// Moves elements within a dimension (slice, pad).
  bool resize = false;
  /// Has no tensor operands (full, iota, random factories).
  bool factory = false;
};

/// One argument of a call as Python text: a value, a list of values, or ready-made text.
struct PythonArg {
  std::string_view keyword; ///< empty for a positional argument
  std::variant<const Val*, std::vector<Val*>, std::string> value;
};

/// The call of `fd.ops.<function>` that rebuilds a node.
struct PythonCall {
  std::string function;
  std::vector<PythonArg> args;
  /// Results after the node's outputs that are None for this node.
  int64_t none_results = 0;
};

class Expr : public Statement {
 public:
  Expr(IrBuilderPasskey key, ExprParts parts);

  /// Class name: "BinaryOp", "SqueezeOp".
  virtual std::string_view opName() const = 0;
  /// Makes a node of the same class; used by the cloner and by mutators.
  virtual Expr* newLike(Fusion* fusion, ExprParts parts) const = 0;
  virtual NodeTraits traits() const {
    return {};
  }
  /// Reports which dimensions of operands and outputs are the same. See domain_mapper.h.
  virtual void mapDomains(DomainMapper& mapper) const;
  /// The operand whose memory order output `i` takes, dimension by dimension; nullptr: none is
  /// promised.
  virtual const Val* layoutOperand(size_t output) const;
  /// The value of a scalar output from those of the operands, in the order of operands(). Every
  /// operand that is present has a value. No value: the node does not fold.
  virtual ScalarValue foldScalars(const std::vector<ScalarValue>& operands) const;
  /// The call of fd.ops that makes this node. Internal error for nodes without one.
  virtual PythonCall pythonCall() const;

  /// All operand slots in declaration order, absent ones included.
  const std::vector<Operand>& operands() const {
    return parts_.operands;
  }
  /// The operands that are present, in order.
  const std::vector<Val*>& inputs() const {
    return inputs_;
  }
  const std::vector<Val*>& outputs() const {
    return parts_.outputs;
  }
  const std::vector<NamedAttribute>& attributes() const {
    return parts_.attributes;
  }
  Val* input(size_t i) const;
  Val* output(size_t i) const;
  /// The operand of that name; nullptr if absent, internal error if there is no such slot.
  Val* operand(std::string_view name) const;
  bool hasAttribute(std::string_view name) const;
  template <typename T>
  const T& attribute(std::string_view name) const {
    return std::get<T>(findAttribute(name));
  }

  /// Same class, attributes and (recursively) operands.
  bool sameAs(const Expr* other) const;

  std::string toString() const override;
  /// The right-hand side only: "T0 + T1", "sum(T0, {1})".
  std::string toInlineString() const override;

 protected:
  friend class Fusion;
  const Attribute& findAttribute(std::string_view name) const;
  /// The right-hand side, given the operands' texts.
  virtual std::string rhsText(const std::vector<std::string>& operand_texts) const;

  ExprParts parts_;
  std::vector<Val*> inputs_;
  bool removed_ = false; ///< unlinked from the graph; see Fusion::removeExpr
};

/// Boilerplate of a node class: the inherited constructor, the name and newLike.
#define NVF_EXPR_COMMON(Class)               \
  using Expr::Expr;                          \
  std::string_view opName() const override { \
    return #Class;                           \
  }                                          \
  Expr* newLike(Fusion* fusion, ExprParts parts) const override;

/// Goes into the node's .cpp, after builder.h is included.
#define NVF_DEFINE_NEW_LIKE(Class)                               \
  Expr* Class::newLike(Fusion* fusion, ExprParts parts) const {  \
    return IrBuilder::createIn<Class>(fusion, std::move(parts)); \
  }

} // namespace nvfuser
