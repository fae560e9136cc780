#include <codegen/cuda_kernel.h>

#include <codegen/cuda_preamble.h>
#include <codegen/cuda_random.h>
#include <codegen/kernel_printer.h>
#include <codegen/text.h>
#include <ir/nodes.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace nvfuser {

namespace {

// Loops up to this length are unrolled, so that arrays lie in registers.
constexpr int64_t kLongestUnrolled = 64;
constexpr int64_t kVectorBytes = 16;   // of one access
constexpr int64_t kMostThreads = 1024; // of a block

int64_t bytesOf(DataType dtype) {
  return dataTypeSizeBits(dtype) / 8;
}

class Printer : public KernelPrinter {
 public:
  Printer(Kernel& kernel, const CudaPrintOptions& options)
      : KernelPrinter(
            kernel,
            {options.wide_index ? "long" : "int", options.wide_index ? "L" : "", true}),
        indices_(kernel.indices),
        options_(options) {}

  CudaKernelText run() {
    for (const KernelBuffer& buffer : kernel_.buffers) {
      result_.buffers += isHandedIn(buffer) ? 1 : 0;
    }
    result_.buffers += kernel_.positions.empty() ? 0 : 1;
    result_.words = randomWords() + kRandomWords * kernel_.randoms.size();
    std::string stages;
    for (size_t i = 0; i < kernel_.stages.size(); ++i) {
      stages += stage(kernel_.stages[i], i);
    }
    const auto atLeastOne = [](size_t count) { return std::to_string(std::max<size_t>(count, 1)); };
    result_.words += result_.divisors.size();
    result_.text = cudaPreamble() + cudaRandomPreamble(kernel_) +
        "struct nvf_args { void* buffers[" + atLeastOne(result_.buffers) + "]; long words[" +
        atLeastOne(result_.words) + "]; };\n" + stages;
    for (const auto& requirement : multiples_) {
      result_.multiples.push_back(requirement);
    }
    for (const auto& requirement : aligned_) {
      result_.aligned.push_back(requirement);
    }
    return std::move(result_);
  }

 private:
  using KernelPrinter::print;

  void node(const KernelNode& node) override {
    std::visit([this](const auto& what) { print(what); }, node.what);
  }
  // As in eager, where nothing is reported from a GPU.
  std::string divisionReport(const Expr* /*expr*/) const override {
    return "";
  }

  std::string division(Index index, const std::string& a, const std::string& b) override {
    if (options_.wide_index || isConstant(index->b) || !isKnownAtLaunch(index->b)) {
      return "";
    }
    auto& divisors = result_.divisors;
    const auto place = std::find(divisors.begin(), divisors.end(), index->b) - divisors.begin();
    if (static_cast<size_t>(place) == divisors.size()) {
      divisors.push_back(index->b);
    }
    const std::string word = "args.words[" +
        std::to_string(randomWords() + kRandomWords * kernel_.randoms.size() + place) + "]";
    const std::string quotient = "nvf_index_div(" + a + ", " + word + ")";
    return index->op == IndexOp::Div ? quotient : "(" + a + " - " + quotient + " * " + b + ")";
  }

  static bool isKnownAtLaunch(Index index) {
    return index == nullptr ||
        (index->op != IndexOp::Loop && index->op != IndexOp::Thread &&
         index->op != IndexOp::Value && isKnownAtLaunch(index->a) && isKnownAtLaunch(index->b));
  }

  std::string stage(const KernelStage& stage, size_t number) {
    written_.clear();
    collectWritten(stage.body);
    reductions_.clear();
    block_ = blockText(stage);
    std::string text = "extern \"C\" __global__ void __launch_bounds__(" +
        std::to_string(threadsOf(stage)) + ") nvf_stage" + std::to_string(number) +
        "(const __grid_constant__ nvf_args args) {\n";
    int place = 0;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const KernelBuffer& buffer = kernel_.buffers[i];
      if (!isHandedIn(buffer)) {
        continue;
      }
      const bool is_read_only = buffer.kind == KernelBuffer::Kind::Input;
      const std::string type =
          (is_read_only ? "const " : "") + std::string(typeName(buffer.dtype)) + "*";
      text += "  " + type + " __restrict__ b" + std::to_string(i) + " = (" + type +
          ")args.buffers[" + std::to_string(place++) + "];\n";
    }
    if (!kernel_.positions.empty()) {
      text += "  long* error = (long*)args.buffers[" + std::to_string(place) + "];\n";
    }
    text += wordDefinitions("args.words", "__longlong_as_double((long long)");
    for (size_t i = 0; i < kernel_.randoms.size(); ++i) {
      text += "  " + cudaRandomSource(static_cast<int>(i), randomWords() + kRandomWords * i) + "\n";
    }
    const std::string type = options_.wide_index ? "long" : "int";
    const std::pair<const char*, const char*> numbers[] = {
        {"bx", "blockIdx.x"},
        {"by", "blockIdx.y"},
        {"bz", "blockIdx.z"},
        {"tx", "threadIdx.x"},
        {"ty", "threadIdx.y"},
        {"tz", "threadIdx.z"}};
    for (const auto& [name, builtin] : numbers) {
      text += "  const " + type + " " + name + " = " + builtin + ";\n";
    }
    const std::string body = closed(stage.body);
    if (!reductions_.empty()) {
      text += "  extern __shared__ uint4 nvf_shared[];\n";
    }
    result_.reductions.push_back(std::move(reductions_));
    return text + body + "}\n";
  }

  // The number of threads of a block along a direction; 0: not known.
  int64_t threadsAlong(const KernelStage& stage, ParallelType type) const {
    const auto it = stage.threads.find(type);
    int64_t most = 1;
    if (it != stage.threads.end()) {
      for (Index extent : it->second) {
        if (!isConstant(extent)) {
          return type == ParallelType::TIDx ? options_.block_x : 0;
        }
        most = std::max(most, extent->number);
      }
    }
    return type == ParallelType::TIDx ? wholeThreads(most) : most;
  }

  int64_t threadsOf(const KernelStage& stage) const {
    int64_t total = 1;
    for (ParallelType type : {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz}) {
      const int64_t threads = threadsAlong(stage, type);
      total *= threads == 0 ? kMostThreads : threads;
    }
    return std::clamp<int64_t>(total, 1, kMostThreads);
  }

  // The lengths of a block: what is constant shortens the code of reductions.
  std::string blockText(const KernelStage& stage) const {
    const std::pair<ParallelType, const char*> lengths[] = {
        {ParallelType::TIDx, "blockDim.x"},
        {ParallelType::TIDy, "blockDim.y"},
        {ParallelType::TIDz, "blockDim.z"}};
    std::string text;
    for (const auto& [type, builtin] : lengths) {
      const int64_t threads = threadsAlong(stage, type);
      text += (text.empty() ? "" : ", ") + (threads == 0 ? builtin : std::to_string(threads) + "u");
    }
    return text;
  }

  void collectWritten(const KernelBody& body) {
    for (const auto& node : body) {
      if (const auto* loop = std::get_if<KernelLoop>(&node->what)) {
        collectWritten(loop->body);
      } else if (const auto* store = std::get_if<KernelStore>(&node->what)) {
        written_.insert(store->buffer);
      }
    }
  }

  // --- memory ---

  std::string element(int buffer, Index index) {
    const KernelBuffer& b = kernel_.buffers[buffer];
    if (isHandedIn(b)) {
      return "b" + std::to_string(buffer) + "[" + indexText(index) + "]";
    }
    const std::string place = b.kind == KernelBuffer::Kind::Accumulator ? "0" : indexText(index);
    return "a" + std::to_string(buffer) + "[" + place + "]";
  }

  void print(const KernelLoad& load) {
    const auto vector = vector_loads_.find(&load);
    if (vector != vector_loads_.end()) {
      define(
          load.out, castText(vector->second, kernel_.buffers[load.buffer].dtype, load.out.dtype));
      return;
    }
    const std::string value = castText(
        element(load.buffer, load.index), kernel_.buffers[load.buffer].dtype, load.out.dtype);
    // What is no memory of others can be read in any case.
    if (load.condition == nullptr || !isHandedIn(kernel_.buffers[load.buffer])) {
      define(load.out, value);
      return;
    }
    const std::string type(typeName(load.out.dtype));
    define(load.out, indexText(load.condition) + " ? " + value + " : " + type + "{}");
  }

  void print(const KernelStore& store) {
    const DataType dtype = kernel_.buffers[store.buffer].dtype;
    const std::string value = castText(text(store.value), store.value.dtype, dtype);
    const auto vector = vector_stores_.find(&store);
    if (vector != vector_stores_.end()) {
      line(vector->second + " = " + value + ";");
      return;
    }
    const std::string assignment = element(store.buffer, store.index) + " = " + value + ";";
    line(
        store.condition == nullptr ? assignment
                                   : "if (" + indexText(store.condition) + ") " + assignment);
  }

  void print(const KernelDeclare& declare) {
    const KernelBuffer& buffer = kernel_.buffers[declare.buffer];
    const std::string type(typeName(buffer.dtype));
    const std::string name = "a" + std::to_string(declare.buffer);
    const bool is_single = buffer.kind == KernelBuffer::Kind::Accumulator;
    NVF_CHECK(
        is_single || isConstant(buffer.size),
        buffer.tensor->toString(),
        " has as many elements in each thread as only the sizes say; registers need a constant");
    const int64_t size = is_single ? 1 : buffer.size->number;
    const std::string declaration = type + " " + name + "[" + std::to_string(size) + "];";
    if (buffer.kind == KernelBuffer::Kind::Shared) {
      line("__shared__ " + declaration);
      return;
    }
    line(declaration);
    if (declare.neutral_of.has_value()) {
      const std::string init = reductionInit(*declare.neutral_of, buffer.dtype);
      line("#pragma unroll");
      line(
          "for (int i = 0; i < " + std::to_string(size) + "; ++i) " + name + "[i] = " + init + ";");
    }
  }

  void print(const KernelAccumulate& accumulate) {
    const DataType dtype = kernel_.buffers[accumulate.buffer].dtype;
    const std::string target = element(accumulate.buffer, accumulate.index);
    const std::string value = castText(text(accumulate.value), accumulate.value.dtype, dtype);
    const std::string assignment =
        target + " = " + reductionCombine(accumulate.type, dtype, target, value) + ";";
    line(
        accumulate.condition == nullptr
            ? assignment
            : "if (" + indexText(accumulate.condition) + ") " + assignment);
  }

  void print(const KernelSync& /*sync*/) {
    line("__syncthreads();");
  }

  void print(const KernelBlockReduce& reduce) {
    const KernelBuffer& buffer = kernel_.buffers[reduce.buffer];
    const int64_t size = buffer.size == nullptr ? 1 : buffer.size->number;
    reductions_.push_back({reduce.over_x, reduce.over_y, size, bytesOf(buffer.dtype)});
    line(
        std::string("nvf_block_reduce_") + (reduce.over_x ? "x" : "") + (reduce.over_y ? "y" : "") +
        "(a" + std::to_string(reduce.buffer) + ", " + reductionFunctor(reduce.type, buffer.dtype) +
        ", " + reductionInit(reduce.type, buffer.dtype) + ", nvf_shared, " + block_ + ");");
  }

  void print(const KernelRandom& random) {
    const auto vector = vector_randoms_.find(&random);
    define(
        random.out,
        vector != vector_randoms_.end()
            ? vector->second
            : cudaRandomAt(kernel_, random.source, indexText(random.element)));
  }

  void print(const KernelTransposedCopy& /*copy*/) {
    NVF_ERROR(false, "copies of whole matrices are made for the CPU only");
  }

  // --- loops ---

  void print(const KernelLoop& loop) {
    std::string after;
    const bool is_short = isConstant(loop.stop) && loop.stop->number <= kLongestUnrolled;
    if (isVector(loop)) {
      after = openVectors(loop);
    } else if (is_short && loop.start == nullptr) {
      loadAhead(loop);
    }
    const std::string variable = indexText(loop.variable);
    const std::string start = loop.start == nullptr ? "0" : indexText(loop.start);
    line(is_short ? "#pragma unroll" : "#pragma unroll 4");
    const std::string stop = indexText(loop.stop);
    const std::string inner = closed(loop.body);
    const std::string type = options_.wide_index ? "long" : "int";
    line(
        "for (" + type + " " + variable + " = " + start + "; " + variable + " < " + stop + "; ++" +
        variable + ") {\n" + inner + indent() + "}");
    out() += after;
  }

  static bool isVector(const KernelLoop& loop) {
    return loop.type == ParallelType::Vectorize && isConstant(loop.stop);
  }

  static bool writesMemory(const Kernel& kernel, const KernelLoop& loop) {
    return std::any_of(loop.body.begin(), loop.body.end(), [&](const auto& node) {
      const auto* store = std::get_if<KernelStore>(&node->what);
      return store != nullptr && isHandedIn(kernel.buffers[store->buffer]);
    });
  }

  // Of an unrolled loop that writes, all rounds read before the first one writes: the compiler does
  // not move a conditional access over another.
  void loadAhead(const KernelLoop& outer) {
    for (const auto& node : outer.body) {
      const auto* loop = std::get_if<KernelLoop>(&node->what);
      if (loop == nullptr || !isVector(*loop) || !writesMemory(kernel_, *loop)) {
        continue;
      }
      std::map<std::tuple<int, Index, Index>, std::string> loaded;
      for (const auto& inside : loop->body) {
        const auto* load = std::get_if<KernelLoad>(&inside->what);
        if (load == nullptr || written_.contains(load->buffer)) {
          continue;
        }
        const auto access = vectorAccess(load->buffer, load->index, load->condition, *loop);
        const bool is_known = access.has_value() && !dependsOnRegister(access->base) &&
            !dependsOnRegister(access->condition);
        if (!is_known) {
          continue;
        }
        std::string& name = loaded[{load->buffer, access->base, access->condition}];
        if (name.empty()) {
          name = "v" + std::to_string(next_vector_++);
          line(
              loadedType(load->buffer, access->width) + " " + name + "[" +
              std::to_string(outer.stop->number) + "];");
          const std::string variable = indexText(outer.variable);
          line("#pragma unroll");
          openScope();
          line(name + "[" + variable + "] = " + loadText(*load, *access) + ";");
          const std::string text = finishedScope();
          line(
              "for (int " + variable + " = 0; " + variable + " < " +
              std::to_string(outer.stop->number) + "; ++" + variable + ") {\n" + text + indent() +
              "}");
        }
        vector_loads_[load] =
            name + "[" + indexText(outer.variable) + "].get(" + indexText(loop->variable) + ")";
      }
    }
  }

  // What the loop reads and writes side by side becomes one access before and after it; the text
  // of the latter.
  std::string openVectors(const KernelLoop& loop) {
    std::string after;
    const std::string variable = indexText(loop.variable);
    std::map<std::tuple<int, Index, Index>, std::string> loaded;
    for (const auto& node : loop.body) {
      if (const auto* load = std::get_if<KernelLoad>(&node->what)) {
        if (vector_loads_.contains(load) || written_.contains(load->buffer)) {
          continue;
        }
        const auto access = vectorAccess(load->buffer, load->index, load->condition, loop);
        if (!access.has_value()) {
          continue;
        }
        std::string& name = loaded[{load->buffer, access->base, access->condition}];
        if (name.empty()) {
          name = "v" + std::to_string(next_vector_++);
          line(
              "const " + loadedType(load->buffer, access->width) + " " + name + " = " +
              loadText(*load, *access) + ";");
        }
        vector_loads_[load] = name + ".get(" + variable + ")";
      } else if (const auto* store = std::get_if<KernelStore>(&node->what)) {
        const auto access = vectorAccess(store->buffer, store->index, store->condition, loop);
        if (!access.has_value()) {
          continue;
        }
        const std::string name = "v" + std::to_string(next_vector_++);
        line(vectorType(store->buffer, access->width) + " " + name + ";");
        vector_stores_[store] = name + ".v[" + variable + "]";
        after += indent() +
            (access->condition == nullptr ? "" : "if (" + indexText(access->condition) + ") ") +
            "nvf_store<" + access->width + ">(b" + std::to_string(store->buffer) + " + " +
            indexText(access->base) + ", " + name + ");\n";
      } else if (const auto* random = std::get_if<KernelRandom>(&node->what)) {
        openRandoms(*random, loop);
      }
    }
    return after;
  }

  // Neighbours share the blocks of their numbers.
  void openRandoms(const KernelRandom& random, const KernelLoop& loop) {
    const int64_t width = loop.stop->number;
    if (width > 16 || (width & (width - 1)) != 0 || dependsOnRegister(random.element) ||
        !isConsecutive(random.element, loop.variable)) {
      return;
    }
    Index first = without(random.element, loop.variable);
    if (first->depth >= loop.variable->depth) {
      return;
    }
    const std::string name = "v" + std::to_string(next_vector_++);
    line(
        "const auto " + name + " = " +
        cudaRandomVector(kernel_, random.source, static_cast<int>(width), indexText(first)) + ";");
    vector_randoms_[&random] = name + ".v[" + indexText(loop.variable) + "]";
  }

  std::string vectorType(int buffer, const std::string& width) const {
    return "nvf_vec<" + std::string(typeName(kernel_.buffers[buffer].dtype)) + ", " + width + ">";
  }

  struct VectorAccess {
    Index base;
    Index condition;
    std::string width;
  };

  std::string loadedType(int buffer, const std::string& width) const {
    return "nvf_words<" + std::string(typeName(kernel_.buffers[buffer].dtype)) + ", " + width + ">";
  }

  std::string loadText(const KernelLoad& load, const VectorAccess& access) {
    // Nobody writes an input while the kernel runs.
    const bool is_input = kernel_.buffers[load.buffer].kind == KernelBuffer::Kind::Input;
    const std::string value = std::string(is_input ? "nvf_read_const<" : "nvf_read<") +
        access.width + ">(b" + std::to_string(load.buffer) + " + " + indexText(access.base) + ")";
    return access.condition == nullptr ? value
                                       : indexText(access.condition) + " ? " + value + " : " +
            loadedType(load.buffer, access.width) + "{}";
  }

  // Requirements of an access are kept only when it becomes one.
  using Multiples = std::set<std::pair<int64_t, int64_t>>;

  std::optional<VectorAccess> vectorAccess(
      int number,
      Index index,
      Index condition,
      const KernelLoop& loop) {
    const KernelBuffer& buffer = kernel_.buffers[number];
    const int64_t width = loop.stop->number;
    if (!isHandedIn(buffer) || index == nullptr || !isConsecutive(index, loop.variable) ||
        options_.alignment == nullptr) {
      return std::nullopt;
    }
    const int64_t bytes = std::min(kVectorBytes, width * bytesOf(buffer.dtype));
    const bool is_power = (bytes & (bytes - 1)) == 0;
    if (!is_power || options_.alignment(number) % bytes != 0) {
      return std::nullopt;
    }
    Multiples needed;
    Index base = without(index, loop.variable);
    const auto rest = uniform(condition, loop.variable, width, needed);
    const bool fits = rest.has_value() && base->depth < loop.variable->depth &&
        (*rest == nullptr || (*rest)->depth < loop.variable->depth) &&
        isMultiple(base, width, needed);
    if (!fits) {
      return std::nullopt;
    }
    multiples_.insert(needed.begin(), needed.end());
    int64_t& alignment = aligned_[number];
    alignment = std::max(alignment, bytes);
    return VectorAccess{base, *rest, std::to_string(width)};
  }

  // The index in the first round, of one that isConsecutive().
  Index without(Index index, Index variable) {
    if (index == variable) {
      return indices_.constant(0);
    }
    const bool in_a = dependsOn(index->a, variable);
    Index a = in_a ? without(index->a, variable) : index->a;
    Index b = in_a ? index->b : without(index->b, variable);
    return index->op == IndexOp::Sub ? indices_.sub(a, b) : indices_.add(a, b);
  }

  // The condition, when it is the same in all rounds of the loop.
  std::optional<Index> uniform(Index condition, Index variable, int64_t width, Multiples& needed) {
    if (condition == nullptr || !dependsOn(condition, variable)) {
      return condition;
    }
    if (condition->op == IndexOp::And) {
      const auto a = uniform(condition->a, variable, width, needed);
      const auto b = uniform(condition->b, variable, width, needed);
      return a.has_value() && b.has_value() ? std::optional<Index>(indices_.both(*a, *b))
                                            : std::nullopt;
    }
    if (condition->op != IndexOp::Lt) {
      return std::nullopt;
    }
    const bool in_a = dependsOn(condition->a, variable);
    if (in_a == dependsOn(condition->b, variable)) {
      return std::nullopt;
    }
    Index moving = in_a ? condition->a : condition->b;
    Index fixed = in_a ? condition->b : condition->a;
    if (!isConsecutive(moving, variable)) {
      return std::nullopt;
    }
    Index first = without(moving, variable);
    // first + v < fixed, or fixed < first + v, where the limit is a multiple too.
    Index limit = in_a ? fixed : indices_.add(fixed, indices_.constant(1));
    if (!isMultiple(first, width, needed) || !isMultiple(limit, width, needed)) {
      return std::nullopt;
    }
    return in_a ? indices_.ltUnbounded(first, fixed) : indices_.ltUnbounded(fixed, first);
  }

  bool isMultiple(Index index, int64_t factor, Multiples& needed) {
    if (factor == 1 || indices_.isKnownMultiple(index, factor)) {
      return true;
    }
    switch (index->op) {
      case IndexOp::Constant:
        return index->number % factor == 0;
      case IndexOp::Mul: {
        if (isConstant(index->b)) {
          const int64_t common = std::gcd(index->b->number, factor);
          return isMultiple(index->a, factor / common, needed);
        }
        Multiples trial = needed;
        for (Index part : {index->b, index->a}) {
          if (isMultiple(part, factor, trial)) {
            needed = trial;
            return true;
          }
          trial = needed;
        }
        return false;
      }
      case IndexOp::Add:
      case IndexOp::Sub:
        return isMultiple(index->a, factor, needed) && isMultiple(index->b, factor, needed);
      case IndexOp::Param:
        if (options_.param == nullptr || options_.param(index->number) % factor != 0) {
          return false;
        }
        needed.emplace(index->number, factor);
        return true;
      default:
        return false;
    }
  }

  IndexContext& indices_;
  const CudaPrintOptions& options_;
  CudaKernelText result_;
  Multiples multiples_;
  std::map<int, int64_t> aligned_;
  std::set<int> written_; ///< buffers that the stage writes
  std::map<const KernelLoad*, std::string> vector_loads_;
  std::map<const KernelStore*, std::string> vector_stores_;
  std::map<const KernelRandom*, std::string> vector_randoms_;
  int next_vector_ = 0;
  std::vector<CudaKernelText::Reduction> reductions_; ///< of the stage
  std::string block_;                                 ///< its lengths, in text
};

} // namespace

int64_t divisorWord(int64_t divisor) {
  NVF_ERROR(divisor > 0 && divisor <= std::numeric_limits<int32_t>::max(), divisor);
  int shift = 0;
  while ((int64_t{1} << shift) < divisor) {
    ++shift;
  }
  const uint64_t factor =
      ((uint64_t{1} << 32) * ((uint64_t{1} << shift) - static_cast<uint64_t>(divisor))) /
          static_cast<uint64_t>(divisor) +
      1;
  return static_cast<int64_t>(static_cast<uint64_t>(shift) << 32 | factor);
}

CudaKernelText printCudaKernel(Kernel& kernel, const CudaPrintOptions& options) {
  return Printer(kernel, options).run();
}

std::string whyNotOnCuda(const Expr* expr) {
  return whyNoText(expr).value_or("");
}

} // namespace nvfuser
