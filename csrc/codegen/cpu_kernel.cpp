#include <codegen/cpu_kernel.h>

#include <codegen/cpu_preamble.h>
#include <codegen/cpu_random.h>
#include <codegen/text.h>
#include <ir/nodes.h>
#include <lower/emitter.h>

#include <algorithm>
#include <map>
#include <set>

namespace nvfuser {

namespace {

// Arrays up to this size (and of constant size) lie on the stack, where the compiler sees through
// them.
constexpr int64_t kStackArrayBytes = 16 << 10;

bool containsLoop(const KernelBody& body) {
  return std::any_of(body.begin(), body.end(), [](const auto& node) {
    return std::holds_alternative<KernelLoop>(node->what) ||
        std::holds_alternative<KernelTransposedCopy>(node->what);
  });
}

// What may report a wrong operand.
bool containsPosition(const KernelBody& body) {
  return std::any_of(body.begin(), body.end(), [](const auto& node) {
    const auto* compute = std::get_if<KernelCompute>(&node->what);
    return std::holds_alternative<KernelPosition>(node->what) ||
        (compute != nullptr && mayDivideByZero(compute->expr));
  });
}

bool dependsOn(Index index, Index part) {
  return index != nullptr &&
      (index == part || dependsOn(index->a, part) || dependsOn(index->b, part));
}

// Whether the next round's element is the next one in memory.
bool isConsecutive(Index index, Index variable) {
  if (index == variable) {
    return true;
  }
  if (index->op == IndexOp::Add) {
    const bool in_a = dependsOn(index->a, variable);
    const bool in_b = dependsOn(index->b, variable);
    return in_a != in_b && isConsecutive(in_a ? index->a : index->b, variable);
  }
  return index->op == IndexOp::Sub && !dependsOn(index->b, variable) &&
      isConsecutive(index->a, variable);
}

// Single stores beat the processor's scatters.
bool scatters(const KernelLoop& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](const auto& node) {
    const auto* store = std::get_if<KernelStore>(&node->what);
    return store != nullptr && store->index != nullptr && dependsOn(store->index, loop.variable) &&
        !isConsecutive(store->index, loop.variable);
  });
}

bool dependsOnRegister(Index index) {
  return index != nullptr &&
      (index->op == IndexOp::Value || dependsOnRegister(index->a) || dependsOnRegister(index->b));
}

bool mayLieOutside(Index index) {
  return index != nullptr &&
      (index->op == IndexOp::Sub || index->op == IndexOp::Value ||
       (index->op == IndexOp::Constant && index->number < 0) || mayLieOutside(index->a) ||
       mayLieOutside(index->b));
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {
    const size_t words = randomWords() + kRandomWords * kernel.randoms.size();
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      const KernelBuffer& buffer = kernel.buffers[i];
      if (buffer.kind == KernelBuffer::Kind::Array && !isOnStack(buffer)) {
        scratch_words_[static_cast<int>(i)] = words + result_.scratch_arrays.size();
        result_.scratch_arrays.push_back(static_cast<int>(i));
      }
    }
  }

  CpuKernelText run() {
    std::string stages;
    for (size_t i = 0; i < kernel_.stages.size(); ++i) {
      stages += stage(kernel_.stages[i], i);
    }
    result_.text = cpuPreamble() + cpuRandomPreamble(kernel_);
    for (int64_t bytes : transposes_) {
      result_.text += cpuTransposeText(bytes);
    }
    result_.text += stages;
    return std::move(result_);
  }

 private:
  struct Scope {
    std::string definitions; ///< of indices, at the head of the body
    std::map<Index, std::string> names;
    std::string text;
  };

  static bool isOnStack(const KernelBuffer& buffer) {
    return isConstant(buffer.size) &&
        buffer.size->number * dataTypeSizeBits(buffer.dtype) / 8 <= kStackArrayBytes;
  }

  static bool isHandedIn(const KernelBuffer& buffer) {
    return buffer.kind == KernelBuffer::Kind::Input || buffer.kind == KernelBuffer::Kind::Output ||
        buffer.kind == KernelBuffer::Kind::Workspace;
  }

  // The first word of the first random source.
  size_t randomWords() const {
    return kernel_.indices.params().size() + kernel_.scalars.size();
  }

  int here() const {
    return static_cast<int>(scopes_.size()) - 1;
  }
  std::string& out() {
    return scopes_.back().text;
  }
  void line(const std::string& text) {
    out() += std::string(2 * scopes_.size(), ' ') + text + "\n";
  }

  std::string stage(const KernelStage& stage, size_t number) {
    std::string text = "extern \"C\" void nvf_stage" + std::to_string(number) +
        "(long begin, long end, void* const* buffers, const long* words, char* scratch) {\n";
    int place = 0;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const KernelBuffer& buffer = kernel_.buffers[i];
      if (!isHandedIn(buffer)) {
        continue;
      }
      const std::string type(typeName(buffer.dtype));
      const bool is_read_only = buffer.kind == KernelBuffer::Kind::Input;
      text += "  " + std::string(is_read_only ? "const " : "") + type + "* __restrict b" +
          std::to_string(i) + " = (" + (is_read_only ? "const " : "") + type + "*)buffers[" +
          std::to_string(place++) + "];\n";
    }
    if (!kernel_.positions.empty()) {
      text += "  long* error = (long*)buffers[" + std::to_string(place) + "];\n";
    }
    const auto& params = kernel_.indices.params();
    for (size_t i = 0; i < params.size(); ++i) {
      text += "  const long p" + std::to_string(i) + " = words[" + std::to_string(i) + "];\n";
    }
    for (size_t i = 0; i < kernel_.scalars.size(); ++i) {
      const DataType dtype = kernel_.scalars[i]->dtype();
      const std::string word = "words[" + std::to_string(params.size() + i) + "]";
      text += "  const " + std::string(typeName(dtype)) + " s" + std::to_string(i) + " = " +
          (isFloatingPointType(dtype)
               ? castText("__builtin_bit_cast(double, " + word + ")", DataType::Double, dtype)
               : castText(word, DataType::Int, dtype)) +
          ";\n";
    }
    for (size_t i = 0; i < kernel_.randoms.size(); ++i) {
      text += "  " + cpuRandomSource(static_cast<int>(i), randomWords() + kRandomWords * i) + "\n";
    }
    const bool parallel = stage.tasks != nullptr;
    if (!parallel) {
      text += closed(stage.body);
    } else {
      scopes_.emplace_back();
      nodes(stage.prologue);
      const std::string variable = indexText(stage.variable);
      const std::string inner = closed(stage.body);
      line(
          "for (long " + variable + " = begin; " + variable + " < end; ++" + variable + ") {\n" +
          inner + std::string(2 * scopes_.size(), ' ') + "}");
      text += finishedScope();
    }
    return text + "}\n";
  }

  // The text of a body in a scope of its own.
  std::string closed(const KernelBody& body) {
    scopes_.emplace_back();
    nodes(body);
    return finishedScope();
  }

  std::string finishedScope() {
    std::string text = scopes_.back().definitions + scopes_.back().text;
    scopes_.pop_back();
    return text;
  }

  void nodes(const KernelBody& body) {
    for (const auto& node : body) {
      std::visit([this](const auto& what) { print(what); }, node->what);
    }
  }

  // --- indices ---

  std::string indexText(Index index) {
    switch (index->op) {
      case IndexOp::Constant:
        return std::to_string(index->number) + "L";
      case IndexOp::Loop:
        return "l" + std::to_string(index->number);
      case IndexOp::Param:
        return "p" + std::to_string(index->number);
      case IndexOp::Value:
        return "r" + std::to_string(index->number);
      default:
        break;
    }
    if (index->depth < here() && !dependsOnRegister(index)) {
      return definedOutside(index);
    }
    return operation(index);
  }

  // Computed once, at the head of the loop body whose variable it changes with.
  std::string definedOutside(Index index) {
    Scope& scope = scopes_.at(index->depth);
    const auto it = scope.names.find(index);
    if (it != scope.names.end()) {
      return it->second;
    }
    const std::string text = operationAt(index, index->depth);
    const std::string name = "x" + std::to_string(next_index_++);
    Scope& owner = scopes_.at(index->depth);
    owner.definitions +=
        std::string(2 * (index->depth + 1), ' ') + "const long " + name + " = " + text + ";\n";
    owner.names[index] = name;
    return name;
  }

  std::string operationAt(Index index, int depth) {
    const auto part = [&](Index operand) {
      const bool is_leaf = operand->a == nullptr;
      if (is_leaf) {
        return indexText(operand);
      }
      return operand->depth < depth ? definedOutside(operand) : operationAt(operand, depth);
    };
    return combined(index, part(index->a), part(index->b));
  }

  std::string operation(Index index) {
    return combined(index, indexText(index->a), indexText(index->b));
  }

  static std::string combined(Index index, const std::string& a, const std::string& b) {
    // Sizes may be 0 where no loop protects a division by them: outside of all loops, and where the
    // index may lie outside of its dimension.
    const bool unprotected =
        !isConstant(index->b) && (index->depth == 0 || mayLieOutside(index->a));
    switch (index->op) {
      case IndexOp::Add:
        return "(" + a + " + " + b + ")";
      case IndexOp::Sub:
        return "(" + a + " - " + b + ")";
      case IndexOp::Mul:
        return "(" + a + " * " + b + ")";
      case IndexOp::Div:
        return unprotected ? "(" + b + " == 0 ? 0 : " + a + " / " + b + ")"
                           : "(" + a + " / " + b + ")";
      case IndexOp::Mod:
        return unprotected ? "(" + b + " == 0 ? 0 : " + a + " % " + b + ")"
                           : "(" + a + " % " + b + ")";
      case IndexOp::Min:
        return "(" + a + " < " + b + " ? " + a + " : " + b + ")";
      case IndexOp::Max:
        return "(" + a + " > " + b + " ? " + a + " : " + b + ")";
      case IndexOp::Lt:
        return "(" + a + " < " + b + ")";
      case IndexOp::And:
        return "(" + a + " & " + b + ")";
      default:
        NVF_ERROR(false, "an index without operands");
        return "";
    }
  }

  // --- statements ---

  std::string text(const KernelValue& value) {
    switch (value.kind) {
      case KernelValue::Kind::Register:
        return "r" + std::to_string(value.number);
      case KernelValue::Kind::Scalar:
        return "s" + std::to_string(value.number);
      case KernelValue::Kind::Constant:
        return constantText(value.constant, value.dtype);
    }
    return "";
  }

  std::string element(int buffer, Index index) {
    const KernelBuffer& b = kernel_.buffers[buffer];
    if (b.kind == KernelBuffer::Kind::Accumulator) {
      return "a" + std::to_string(buffer);
    }
    const char* prefix = b.kind == KernelBuffer::Kind::Array ? "a" : "b";
    return prefix + std::to_string(buffer) + "[" + indexText(index) + "]";
  }

  void define(const KernelValue& value, const std::string& text) {
    line(
        "const " + std::string(typeName(value.dtype)) + " r" + std::to_string(value.number) +
        " = " + text + ";");
  }

  void print(const KernelLoop& loop) {
    const std::string variable = indexText(loop.variable);
    std::string stop = indexText(loop.stop);
    std::string start = loop.start == nullptr ? "0" : indexText(loop.start);
    const bool in_pieces = openPieces(loop, start, stop);
    const bool innermost = !containsLoop(loop.body) && !containsPosition(loop.body);
    std::vector<std::string> clauses;
    bool has_plain_accumulator = false;
    for (const auto& node : loop.body) {
      const auto* accumulate = std::get_if<KernelAccumulate>(&node->what);
      if (accumulate == nullptr || accumulate->index != nullptr) {
        continue;
      }
      const DataType dtype = kernel_.buffers[accumulate->buffer].dtype;
      const std::string name(cpuOmpReduction(accumulate->type, dtype));
      has_plain_accumulator = has_plain_accumulator || name.empty();
      clauses.push_back(" reduction(" + name + ":a" + std::to_string(accumulate->buffer) + ")");
    }
    if (innermost && !has_plain_accumulator && !scatters(loop)) {
      std::string pragma = "#pragma omp simd";
      for (const std::string& clause : clauses) {
        pragma += clause;
      }
      out() += pragma + "\n";
    }
    const std::string inner = closed(loop.body);
    line(
        "for (long " + variable + " = " + start + "; " + variable + " < " + stop + "; ++" +
        variable + ") {\n" + inner + std::string(2 * scopes_.size(), ' ') + "}");
    if (in_pieces) {
      line("}");
      pieces_.clear();
    }
  }

  // Random numbers of neighbours are made a piece at a time, ahead of the loop that takes them.
  bool openPieces(const KernelLoop& loop, std::string& start, std::string& stop) {
    std::vector<const KernelRandom*> made;
    for (const auto& node : loop.body) {
      const auto* random = std::get_if<KernelRandom>(&node->what);
      const bool neighbours = random != nullptr && !dependsOnRegister(random->element) &&
          isConsecutive(random->element, loop.variable);
      if (neighbours) {
        made.push_back(random);
      }
    }
    if (made.empty() || containsLoop(loop.body)) {
      return false;
    }
    const std::string variable = indexText(loop.variable);
    const std::string piece = std::to_string(kRandomPiece);
    const std::string first = variable + "b";
    const std::string last = variable + "e";
    line(
        "for (long " + first + " = " + start + "; " + first + " < " + stop + "; " + first +
        " += " + piece + ") {");
    line(
        "const long " + variable + " = " + first + ", " + last + " = " + stop + " - " + first +
        " < " + piece + " ? " + stop + " : " + first + " + " + piece + ";");
    for (const KernelRandom* random : made) {
      const std::string name = "q" + std::to_string(random->out.number);
      const std::string element = indexText(random->element);
      line(cpuRandomPiece(kernel_, random->source, name, element, last + " - " + first));
      pieces_[random->out.number] = name + "[" + variable + " - " + first + "]";
    }
    start = first;
    stop = last;
    return true;
  }

  void print(const KernelRandom& random) {
    const auto piece = pieces_.find(random.out.number);
    define(
        random.out,
        piece != pieces_.end() ? piece->second
                               : cpuRandomAt(kernel_, random.source, indexText(random.element)));
  }

  void print(const KernelTransposedCopy& copy) {
    const int64_t bytes = dataTypeSizeBits(kernel_.buffers[copy.source].dtype) / 8;
    transposes_.insert(bytes);
    line(
        "nvf_transpose" + std::to_string(8 * bytes) + "(&" +
        element(copy.target, copy.target_index) + ", " + indexText(copy.target_stride) + ", &" +
        element(copy.source, copy.source_index) + ", " + indexText(copy.source_stride) + ", " +
        indexText(copy.rows) + ", " + indexText(copy.columns) + ");");
  }

  void print(const KernelCompute& compute) {
    std::vector<std::string> operands;
    for (const KernelValue& operand : compute.operands) {
      operands.push_back(text(operand));
    }
    const DataType dtype = compute.out.dtype;
    if (compute.expr->traits().pointwise) {
      const bool may_fail = mayDivideByZero(compute.expr);
      const std::string report = may_fail ? "error, " + numberOf(compute.expr) : "";
      define(compute.out, pointwiseText(compute.expr, operands, report));
    } else if (operands.size() == 1) {
      define(compute.out, castText(operands[0], compute.operands[0].dtype, dtype));
    } else {
      // A counted sequence: number, start, step.
      const DataType wide = isFloatingPointType(dtype) ? DataType::Double : DataType::Int;
      const auto widened = [&](size_t i) {
        return castText(operands[i], compute.operands[i].dtype, wide);
      };
      define(
          compute.out,
          castText("(" + widened(1) + " + " + widened(2) + " * " + widened(0) + ")", wide, dtype));
    }
  }

  void print(const KernelLoad& load) {
    const std::string value = castText(
        element(load.buffer, load.index), kernel_.buffers[load.buffer].dtype, load.out.dtype);
    if (load.condition == nullptr) {
      define(load.out, value);
      return;
    }
    const std::string type(typeName(load.out.dtype));
    define(load.out, indexText(load.condition) + " ? " + value + " : " + type + "{}");
  }

  void print(const KernelStore& store) {
    const std::string text = element(store.buffer, store.index) + " = " +
        castText(this->text(store.value), store.value.dtype, kernel_.buffers[store.buffer].dtype) +
        ";";
    line(store.condition == nullptr ? text : "if (" + indexText(store.condition) + ") " + text);
  }

  void print(const KernelDeclare& declare) {
    const KernelBuffer& buffer = kernel_.buffers[declare.buffer];
    const std::string type(typeName(buffer.dtype));
    const std::string name = "a" + std::to_string(declare.buffer);
    const std::string init = declare.neutral_of.has_value()
        ? reductionInit(*declare.neutral_of, buffer.dtype)
        : type + "{}";
    if (buffer.kind == KernelBuffer::Kind::Accumulator) {
      line(type + " " + name + " = " + init + ";");
      return;
    }
    if (isOnStack(buffer)) {
      line("alignas(64) " + type + " " + name + "[" + std::to_string(buffer.size->number) + "];");
    } else {
      line(
          type + "* __restrict " + name + " = (" + type + "*)(scratch + words[" +
          std::to_string(scratch_words_.at(declare.buffer)) + "]);");
    }
    if (declare.neutral_of.has_value()) {
      line(
          "for (long i = 0; i < " + indexText(buffer.size) + "; ++i) " + name + "[i] = " + init +
          ";");
    }
  }

  void print(const KernelAccumulate& accumulate) {
    const DataType dtype = kernel_.buffers[accumulate.buffer].dtype;
    const std::string target = element(accumulate.buffer, accumulate.index);
    const std::string value = castText(this->text(accumulate.value), accumulate.value.dtype, dtype);
    if (accumulate.condition == nullptr) {
      line(target + " = " + reductionCombine(accumulate.type, dtype, target, value) + ";");
      return;
    }
    const std::string condition = indexText(accumulate.condition);
    if (accumulate.index != nullptr) {
      line(
          "if (" + condition + ") " + target + " = " +
          reductionCombine(accumulate.type, dtype, target, value) + ";");
      return;
    }
    // Without a branch, so that it is a reduction in OpenMP's sense.
    const std::string chosen =
        "(" + condition + " ? " + value + " : " + reductionInit(accumulate.type, dtype) + ")";
    line(target + " = " + reductionCombine(accumulate.type, dtype, target, chosen) + ";");
  }

  void print(const KernelSelect& select) {
    define(
        select.out,
        indexText(select.condition) + " ? " + text(select.yes) + " : " +
            castText(text(select.no), select.no.dtype, select.out.dtype));
  }

  void print(const KernelFromIndex& from) {
    define(from.out, castText(indexText(from.index), DataType::Index, from.out.dtype));
  }

  void print(const KernelPosition& position) {
    const std::string raw = castText(text(position.value), position.value.dtype, DataType::Index);
    const std::string extent = indexText(position.extent);
    const std::string name = "r" + std::to_string(position.out.number);
    line("long " + name + " = " + raw + ";");
    if (position.wraps) {
      line("if (" + name + " < 0) " + name + " += " + extent + ";");
    }
    const std::string guard =
        position.condition == nullptr ? "" : indexText(position.condition) + " && ";
    line(
        "if ((unsigned long)" + name + " >= (unsigned long)" + extent + ") { if (" + guard +
        "true) *error = " + numberOf(position.expr) + "; " + name + " = -1; }");
  }

  // The number by which the launch knows the node.
  std::string numberOf(const Expr* expr) const {
    const auto& nodes = kernel_.positions;
    return std::to_string(std::find(nodes.begin(), nodes.end(), expr) - nodes.begin() + 1);
  }

  const Kernel& kernel_;
  CpuKernelText result_;
  std::map<int, size_t> scratch_words_;
  std::map<int, std::string> pieces_; ///< of registers that hold random numbers: where they lie
  std::set<int64_t> transposes_;      ///< sizes of elements
  std::vector<Scope> scopes_;
  int next_index_ = 0;
};

} // namespace

CpuKernelText printCpuKernel(const Kernel& kernel) {
  return Printer(kernel).run();
}

std::string whyNotOnCpu(const Expr* expr) {
  return whyNoText(expr).value_or("");
}

} // namespace nvfuser
