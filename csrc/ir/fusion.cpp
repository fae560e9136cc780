#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/fusion.h>
#include <ir/python_text.h>
#include <ir/tensor_view.h>
#include <ir/traversal.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace nvfuser {

Fusion::Fusion() = default;
Fusion::~Fusion() = default;

void Fusion::registerStatement(std::unique_ptr<Statement> statement) {
  if (auto* val = dynamic_cast<Val*>(statement.get())) {
    val->name_ = val_names_[static_cast<size_t>(val->kind())]++;
    vals_.push_back(val);
  } else {
    auto* expr = static_cast<Expr*>(statement.get());
    expr->name_ = expr_names_++;
    for (Val* out : expr->outputs()) {
      NVF_ERROR(out->fusion() == this, "an output belongs to another fusion");
      out->definition_ = expr;
    }
    for (Val* in : expr->inputs()) {
      if (in->uses_.empty() || in->uses_.back() != expr) {
        in->uses_.push_back(expr);
      }
    }
    exprs_.push_back(expr);
  }
  statements_.push_back(std::move(statement));
}

Val* Fusion::sharedZero() {
  if (zero_ == nullptr) {
    zero_ = IrBuilder::createIn<Val>(this, ScalarValue(int64_t{0}), DataType::Index);
  }
  return zero_;
}

Val* Fusion::sharedOne() {
  if (one_ == nullptr) {
    one_ = IrBuilder::createIn<Val>(this, ScalarValue(int64_t{1}), DataType::Index);
  }
  return one_;
}

std::unique_ptr<Fusion> Fusion::clone(std::unordered_map<const Val*, Val*>* map) const {
  auto copy = std::make_unique<Fusion>();
  IrCloner cloner(copy.get());
  cloneInto(*copy, cloner);
  if (map != nullptr) {
    *map = std::move(cloner.map());
  }
  return copy;
}

void Fusion::cloneInto(Fusion& copy, IrCloner& cloner) const {
  for (const Val* val : vals_) {
    cloner.clone(val);
  }
  for (const Expr* expr : allExprs()) {
    Expr* expr_copy = cloner.clone(expr);
    expr_copy->name_ = expr->name_;
  }
  const auto in_copy = [&](Val* val) { return val == nullptr ? nullptr : cloner.clone(val); };
  for (Val* in : inputs_) {
    copy.inputs_.push_back(in_copy(in));
    copy.inputs_.back()->is_fusion_input_ = true;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    copy.outputs_.push_back(in_copy(outputs_[i]));
    copy.outputs_.back()->is_fusion_output_ = true;
    auto alias = aliases_[i];
    if (alias.has_value()) {
      alias->input = in_copy(alias->input);
    }
    copy.aliases_.push_back(alias);
    copy.views_.push_back(in_copy(views_[i]));
  }
  copy.val_names_ = val_names_;
  copy.expr_names_ = expr_names_;
  copy.rng_ids_ = rng_ids_;
  copy.zero_ = in_copy(zero_);
  copy.one_ = in_copy(one_);
}

void Fusion::addInput(Val* input) {
  NVF_CHECK(input->fusion() == this, input->toString(), " belongs to another Fusion");
  NVF_CHECK(input->isTensor() || input->isScalar(), "a fusion input is a tensor or a scalar");
  NVF_CHECK(!input->isConst(), "a constant cannot be an input: ", input->toString());
  NVF_CHECK(
      input->definition() == nullptr,
      "a value with a definition cannot be an input: ",
      input->toString());
  NVF_CHECK(!input->isFusionInput(), input->toString(), " is an input already");
  if (auto* tv = dynamic_cast<TensorView*>(input)) {
    tv->setMemoryType(MemoryType::Global);
  }
  input->is_fusion_input_ = true;
  inputs_.push_back(input);
}

void Fusion::addOutput(Val* output) {
  NVF_CHECK(output->fusion() == this, output->toString(), " belongs to another Fusion");
  NVF_CHECK(output->isTensor() || output->isScalar(), "a fusion output is a tensor or a scalar");
  if (auto* tv = dynamic_cast<TensorView*>(output)) {
    tv->setMemoryType(MemoryType::Global);
  }
  output->is_fusion_output_ = true;
  outputs_.push_back(output);
  aliases_.emplace_back();
  views_.push_back(nullptr);
}

void Fusion::addAliasOutput(Val* output, Val* input) {
  NVF_CHECK(
      input->fusion() == this && input->isFusionInput() && input->isTensor(),
      "alias_input must be a tensor input of this Fusion, not ",
      input->toString());
  NVF_CHECK(output->isTensor(), "an aliased output must be a tensor, not ", output->toString());
  NVF_CHECK(
      output->dtype() == input->dtype(),
      "an output of dtype ",
      output->dtype(),
      " cannot be written into an input of dtype ",
      input->dtype());
  const auto out_rank = output->as<TensorView>()->nDims();
  const auto in_rank = input->as<TensorView>()->nDims();
  NVF_CHECK(
      out_rank == in_rank,
      "an output of rank ",
      out_rank,
      " cannot be written into an input of rank ",
      in_rank);
  addOutput(output);
  aliases_.back() = AliasInfo{input, true};
}

void Fusion::replaceOutput(size_t index, Val* output) {
  Val* old = outputs_.at(index);
  outputs_[index] = output;
  views_[index] = nullptr;
  output->is_fusion_output_ = true;
  if (auto* tv = dynamic_cast<TensorView*>(output)) {
    tv->setMemoryType(MemoryType::Global);
  }
  old->is_fusion_output_ = std::find(outputs_.begin(), outputs_.end(), old) != outputs_.end();
}

std::vector<size_t> Fusion::visibleOutputs() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!aliases_[i].has_value() || !aliases_[i]->hidden) {
      result.push_back(i);
    }
  }
  return result;
}

std::vector<Expr*> Fusion::exprs() const {
  return exprsTo(outputs_);
}

std::vector<Expr*> Fusion::allExprs() const {
  std::vector<Expr*> result;
  std::copy_if(exprs_.begin(), exprs_.end(), std::back_inserter(result), [](const Expr* expr) {
    return !expr->removed_;
  });
  return result;
}

std::vector<TensorView*> Fusion::tensorViews() const {
  std::vector<TensorView*> result;
  std::unordered_set<const Val*> seen;
  const auto add = [&](Val* val) {
    if (val->isTensor() && seen.insert(val).second) {
      result.push_back(val->as<TensorView>());
    }
  };
  for (Val* in : inputs_) {
    add(in);
  }
  for (Expr* expr : exprs()) {
    for (Val* in : expr->inputs()) {
      add(in);
    }
    for (Val* out : expr->outputs()) {
      add(out);
    }
  }
  for (Val* out : outputs_) {
    add(out);
  }
  return result;
}

void Fusion::removeExpr(Expr* expr) {
  for (Val* in : expr->inputs()) {
    std::erase(in->uses_, expr);
  }
  for (Val* out : expr->outputs()) {
    if (out->definition_ == expr) {
      out->definition_ = nullptr;
    }
  }
  expr->removed_ = true;
}

Expr* Fusion::replaceOperand(Expr* expr, Val* from, Val* to) {
  ExprParts parts{expr->operands(), expr->outputs(), expr->attributes()};
  for (Operand& operand : parts.operands) {
    if (operand.val == from) {
      operand.val = to;
    }
  }
  removeExpr(expr);
  return expr->newLike(this, std::move(parts));
}

void Fusion::replaceAllUses(Val* from, Val* to) {
  const std::vector<Expr*> uses = from->uses();
  for (Expr* use : uses) {
    if (std::find(use->outputs().begin(), use->outputs().end(), to) == use->outputs().end()) {
      replaceOperand(use, from, to);
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == from) {
      replaceOutput(i, to);
    }
  }
}

namespace {

// Numbers values in the order in which they are met, so that names do not matter.
class CanonicalWriter {
 public:
  void scalar(const Val* val) {
    if (val->isConst()) {
      text_ += std::string(dataTypeName(val->dtype())) + ":" + scalarPythonText(val->value());
      return;
    }
    const bool first = !ids_.contains(val);
    text_ += "s" + std::to_string(id(val)) + ":" + std::string(dataTypeName(val->dtype()));
    if (first && val->definition() != nullptr && !val->isFusionInput()) {
      text_ += "=";
      expr(val->definition());
    }
  }

  void tensor(const TensorView* tv) {
    const bool first = !ids_.contains(tv);
    text_ += "t" + std::to_string(id(tv));
    if (!first) {
      return;
    }
    text_ += std::string(":") + std::string(dataTypeName(tv->dtype())) +
        (tv->isCpuScalar() ? ":cpu" : "") + "[";
    for (const IterDomain* id : tv->getLogicalDomain()) {
      text_ += detail::concat(id->iterType(), " ");
      scalar(id->extent());
      if (id->hasExpandedExtent()) {
        text_ += " ex ";
        scalar(id->expandedExtent());
      }
      text_ += ",";
    }
    text_ += "]";
    if (tv->hasRoot()) {
      text_ += "from";
      for (const IterDomain* id : tv->getLogicalDomain()) {
        derivation(id, tv->getRootDomain());
        text_ += ",";
      }
    }
    for (const auto& c : tv->domain()->contiguity()) {
      text_ += !c.has_value() ? 'n' : *c ? 't' : 'f';
    }
    text_ += tv->hasAllocation() ? "a" : "";
    for (int64_t order : tv->domain()->strideOrder()) {
      text_ += "o" + std::to_string(order);
    }
  }

  // How a logical domain comes from the root: permutations differ in nothing else.
  void derivation(const IterDomain* id, const std::vector<IterDomain*>& root) {
    const auto place = std::find(root.begin(), root.end(), id) - root.begin();
    if (place < static_cast<int64_t>(root.size())) {
      text_ += "r" + std::to_string(place);
      return;
    }
    const Expr* transform = id->definition();
    if (transform == nullptr) {
      text_ += "new";
      return;
    }
    text_ += std::string(transform->opName()) + "(";
    for (const Operand& operand : transform->operands()) {
      if (operand.val->kind() == ValKind::IterDomain) {
        derivation(static_cast<const IterDomain*>(operand.val), root);
      } else {
        scalar(operand.val);
      }
      text_ += ",";
    }
    for (const NamedAttribute& attribute : transform->attributes()) {
      text_ += attributeText(attribute.value) + ",";
    }
    text_ += transform->output(0) == id ? ")0" : ")1";
  }

  void any(const Val* val) {
    if (val == nullptr) {
      text_ += "-";
    } else if (val->isTensor()) {
      tensor(static_cast<const TensorView*>(val));
    } else {
      scalar(val);
    }
  }

  void expr(const Expr* expr) {
    text_ += std::string(expr->opName()) + "(";
    for (const Operand& operand : expr->operands()) {
      any(operand.val);
      text_ += ",";
    }
    for (const NamedAttribute& attribute : expr->attributes()) {
      text_ += std::string(attribute.name) + "=" + attributeText(attribute.value) + ",";
    }
    text_ += ")";
  }

  void line(const char* head) {
    text_ += "\n";
    text_ += head;
  }

  std::string take() {
    return std::move(text_);
  }

 private:
  int64_t id(const Val* val) {
    return ids_.emplace(val, static_cast<int64_t>(ids_.size())).first->second;
  }

  std::string text_;
  std::unordered_map<const Val*, int64_t> ids_;
};

} // namespace

std::string Fusion::canonicalText() const {
  CanonicalWriter writer;
  for (const Val* in : inputs_) {
    writer.line("in ");
    writer.any(in);
  }
  for (const Expr* expr : exprs()) {
    if (!expr->outputs().front()->isTensor()) {
      // In order of dependence, so that writing a value never walks deep.
      writer.line("");
      writer.any(expr->outputs().front());
      continue;
    }
    writer.line("");
    writer.expr(expr);
    writer.line("-> ");
    for (const Val* out : expr->outputs()) {
      writer.any(out);
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    writer.line("out ");
    writer.any(outputs_[i]);
    if (aliases_[i].has_value()) {
      writer.line(aliases_[i]->hidden ? "hidden alias of " : "alias of ");
      writer.any(aliases_[i]->input);
    }
  }
  return writer.take();
}

size_t Fusion::hash() const {
  return std::hash<std::string>{}(canonicalText());
}

std::string Fusion::printMath(bool from_outputs_only) const {
  std::string text = "Inputs:\n";
  for (const Val* in : inputs_) {
    text += detail::concat(
        "  ", in->toString(), in->isTensor() ? "" : detail::concat(", ", in->dtype()), "\n");
  }
  text += "Outputs:\n";
  for (const Val* out : outputs_) {
    text += "  " + out->toString() + "\n";
  }
  text += "\n%kernel_math {\n";
  for (const Expr* expr : from_outputs_only ? exprs() : allExprs()) {
    const bool of_tensors = std::any_of(
        expr->outputs().begin(), expr->outputs().end(), [](const Val* v) { return v->isTensor(); });
    if (of_tensors) {
      text += expr->toString();
    }
  }
  return text + "} // %kernel_math \n\n";
}

std::string Fusion::toPython() const {
  return pythonText(*this);
}

namespace {
thread_local Fusion* active_fusion = nullptr;
}

FusionGuard::FusionGuard(Fusion* fusion) : previous_(active_fusion) {
  active_fusion = fusion;
}
FusionGuard::~FusionGuard() {
  active_fusion = previous_;
}
Fusion* FusionGuard::active() {
  return active_fusion;
}
Fusion* FusionGuard::activeOrThrow() {
  NVF_CHECK(
      active_fusion != nullptr,
      "no Fusion is being defined: use this inside `with FusionDefinition() as fd:`");
  return active_fusion;
}

} // namespace nvfuser
