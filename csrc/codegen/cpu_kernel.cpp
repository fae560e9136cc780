#include <codegen/cpu_kernel.h>

#include <codegen/cpu_preamble.h>
#include <codegen/cpu_random.h>
#include <codegen/kernel_printer.h>
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

// Single stores beat the processor's scatters.
bool scatters(const KernelLoop& loop) {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](const auto& node) {
    const auto* store = std::get_if<KernelStore>(&node->what);
    return store != nullptr && store->index != nullptr && dependsOn(store->index, loop.variable) &&
        !isConsecutive(store->index, loop.variable);
  });
}

class Printer : public KernelPrinter {
 public:
  explicit Printer(const Kernel& kernel) : KernelPrinter(kernel, {"long", "L", false}) {
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
  using KernelPrinter::print;

  void node(const KernelNode& node) override {
    std::visit([this](const auto& what) { print(what); }, node.what);
  }
  std::string divisionReport(const Expr* expr) const override {
    return "error, " + numberOf(expr);
  }
  // Only other targets have threads that share memory.
  void print(const KernelSync& /*sync*/) {
    NVF_ERROR(false, "a kernel for the CPU has no blocks of threads");
  }
  void print(const KernelBlockReduce& /*reduce*/) {
    NVF_ERROR(false, "a kernel for the CPU has no blocks of threads");
  }

  static bool isOnStack(const KernelBuffer& buffer) {
    return isConstant(buffer.size) &&
        buffer.size->number * dataTypeSizeBits(buffer.dtype) / 8 <= kStackArrayBytes;
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
    text += wordDefinitions("words", "__builtin_bit_cast(double, ");
    for (size_t i = 0; i < kernel_.randoms.size(); ++i) {
      text += "  " + cpuRandomSource(static_cast<int>(i), randomWords() + kRandomWords * i) + "\n";
    }
    const bool parallel = stage.tasks != nullptr;
    if (!parallel) {
      text += closed(stage.body);
    } else {
      openScope();
      nodes(stage.prologue);
      const std::string variable = indexText(stage.variable);
      const std::string inner = closed(stage.body);
      line(
          "for (long " + variable + " = begin; " + variable + " < end; ++" + variable + ") {\n" +
          inner + indent() + "}");
      text += finishedScope();
    }
    return text + "}\n";
  }

  std::string element(int buffer, Index index) {
    const KernelBuffer& b = kernel_.buffers[buffer];
    if (b.kind == KernelBuffer::Kind::Accumulator) {
      return "a" + std::to_string(buffer);
    }
    const char* prefix = b.kind == KernelBuffer::Kind::Array ? "a" : "b";
    return prefix + std::to_string(buffer) + "[" + indexText(index) + "]";
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
        variable + ") {\n" + inner + indent() + "}");
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

  CpuKernelText result_;
  std::map<int, size_t> scratch_words_;
  std::map<int, std::string> pieces_; ///< of registers that hold random numbers: where they lie
  std::set<int64_t> transposes_;      ///< sizes of elements
};

} // namespace

CpuKernelText printCpuKernel(const Kernel& kernel) {
  return Printer(kernel).run();
}

std::string whyNotOnCpu(const Expr* expr) {
  return whyNoText(expr).value_or("");
}

} // namespace nvfuser
