#include <runtime/segment_report.h>

#include <runtime/cpu_segment.h>

#include <analysis/scalar_values.h>
#include <ir/iter_domain.h>
#include <ir/nodes.h>
#include <ir/options.h>
#include <ir/traversal.h>
#include <passes/pipeline.h>

#include <algorithm>

namespace nvfuser {

namespace {

std::string nameOf(const Val* tensor) {
  return "T" + std::to_string(tensor->name());
}

std::string opNameOf(const Expr* expr) {
  try {
    return expr->pythonCall().function;
  } catch (const InternalError&) {
    return std::string(expr->opName()); // no operation of a definition: a pass made it
  }
}

std::string roleOf(const Fusion& fusion, const Val* val) {
  const auto place = [&](const std::vector<Val*>& vals, const char* kind) -> std::string {
    const auto it = std::find(vals.begin(), vals.end(), val);
    return it == vals.end() ? "" : kind + std::to_string(it - vals.begin());
  };
  const std::string role = place(fusion.inputs(), "input ");
  return role.empty() ? place(fusion.outputs(), "output ") : role;
}

ScalarValue sizeOf(const Val* extent, const KernelSegment::SizeOf& size_of) {
  return extent->isConst() ? extent->value() : size_of(extent);
}

// Elements in memory, so expanded dims count once; 0 where a size is not known.
int64_t elements(const TensorView* tv, const KernelSegment::SizeOf& size_of) {
  int64_t result = 1;
  for (const IterDomain* id : noReductions(tv->getLogicalDomain())) {
    const ScalarValue size = sizeOf(id->getMaybeExpandedExtent(), size_of);
    const int64_t number = hasValue(size) ? toInt(size) : 0;
    result *= id->hasExpandedExtent() && number != 0 ? 1 : number;
  }
  return result;
}

TensorReport reportTensor(
    const Fusion& fusion,
    const TensorView* tv,
    const KernelSegment::SizeOf& size_of) {
  TensorReport report{nameOf(tv), roleOf(fusion, tv), tv->dtype(), {}};
  for (const IterDomain* id : noReductions(tv->getLogicalDomain())) {
    const Val* extent = id->getMaybeExpandedExtent();
    const ScalarValue size = sizeOf(extent, size_of);
    if (hasValue(size)) {
      report.sizes.emplace_back(toInt(size));
    } else {
      report.sizes.emplace_back(extent->toInlineString());
    }
  }
  report.bytes = elements(tv, size_of) * dataTypeSizeBits(tv->dtype()) / 8;
  return report;
}

std::vector<LoopReport> reportLoops(
    const KernelSegment& kernel,
    const KernelSegment::SizeOf& size_of) {
  std::unordered_map<const Val*, ScalarValue> known;
  for (const auto& [copy, original] : kernel.originals()) {
    const ScalarValue value = size_of(original);
    if (hasValue(value)) {
      known[copy] = value;
    }
  }
  ScalarValues values(std::move(known));
  std::vector<LoopReport> result;
  for (const TensorView* tv : kernel.fusion().tensorViews()) {
    if (tv->definition() == nullptr || tv->isInlined()) {
      continue;
    }
    LoopReport report{nameOf(tv), {}};
    for (const IterDomain* id : tv->getLoopDomain()) {
      if (id->isBroadcast() || id->extent()->isOneInt()) {
        continue;
      }
      const ScalarValue size = values.evaluate(id->extent());
      report.loops.push_back(
          std::string(
              id->parallelType() == ParallelType::BIDx ? "parallel "
                  : id->isReduction()                  ? "reduction "
                                                       : "serial ") +
          (hasValue(size) ? std::to_string(toInt(size)) : id->extent()->toInlineString()));
    }
    result.push_back(std::move(report));
  }
  return result;
}

// What the group reads of an input, at most. A node other than a reduction or a library's reads no
// more than one element for each one that it computes.
int64_t bytesRead(
    const SegmentedGroup& group,
    const Val* in,
    const TensorReport& report,
    const KernelSegment::SizeOf& size_of) {
  const int64_t all = elements(in->as<TensorView>(), size_of);
  int64_t read = 0;
  for (const Expr* expr : group.exprs) {
    const auto& operands = expr->inputs();
    if (std::find(operands.begin(), operands.end(), in) == operands.end()) {
      continue;
    }
    const NodeTraits traits = expr->traits();
    const bool reads_all = traits.reduction || traits.opens_segment;
    read += reads_all ? all : std::min(all, elements(expr->output(0)->as<TensorView>(), size_of));
  }
  return all == 0 ? 0 : std::min(report.bytes, report.bytes / all * read);
}

SegmentReport::Kind kindOf(const SegmentedGroup& group, bool is_kernel) {
  if (is_kernel) {
    return SegmentReport::Kind::Kernel;
  }
  const auto& exprs = group.exprs;
  const bool are_views =
      std::all_of(exprs.begin(), exprs.end(), [](const Expr* expr) { return expr->traits().view; });
  return are_views ? SegmentReport::Kind::View : SegmentReport::Kind::Library;
}

void reportKernel(
    const FusionKernelRuntime::Segment& segment,
    const KernelSegment::SizeOf& size_of,
    const LaunchPlan* plan,
    SegmentReport& report) {
  const KernelSegment& kernel = *segment.kernel;
  report.scheduler = kernel.schedule().scheduler;
  report.heuristics = kernel.schedule().heuristics;
  report.refused = kernel.schedule().refused;
  report.loops = reportLoops(kernel, size_of);
  report.compile_seconds = segment.seconds;
  if (plan == nullptr) {
    return;
  }
  const KernelLaunch& launch = *plan->kernels.at(segment.number);
  for (size_t i = 0; i < launch.tasks.size(); ++i) {
    // Without a parallel loop the calling thread does it all.
    report.stages.push_back({std::max<int64_t>(launch.tasks[i], 1), launch.grains.at(i)});
  }
  report.scratch_bytes = launch.scratch_bytes;
  for (int64_t bytes : launch.workspace_bytes) {
    report.workspace_bytes += bytes;
  }
}

} // namespace

std::string_view kindName(SegmentReport::Kind kind) {
  switch (kind) {
    case SegmentReport::Kind::Kernel:
      return "kernel";
    case SegmentReport::Kind::Library:
      return "library call";
    case SegmentReport::Kind::View:
      return "view";
  }
  return "";
}

namespace {

class Reporter {
 public:
  Reporter(const Fusion& fusion, const KernelSegment::SizeOf& size_of)
      : fusion_(fusion), size_of_(size_of) {}

  void add(const SegmentedGroup& group, SegmentReport report) {
    for (const Expr* expr : group.exprs) {
      report.ops.push_back(opNameOf(expr));
      std::string text = expr->toString();
      while (!text.empty() && text.back() == '\n') {
        text.pop_back();
      }
      report.nodes.push_back(std::move(text));
    }
    for (const Val* in : group.inputs) {
      report.inputs.push_back(reportTensor(fusion_, in->as<TensorView>(), size_of_));
    }
    explainBorders(group, report);
    for (const Val* out : group.outputs) {
      report.outputs.push_back(reportTensor(fusion_, out->as<TensorView>(), size_of_));
      makers_[out] = reports_.size();
    }
    if (report.kind != SegmentReport::Kind::View) {
      for (size_t i = 0; i < group.inputs.size(); ++i) {
        report.bytes_read += bytesRead(group, group.inputs[i], report.inputs[i], size_of_);
      }
      for (const TensorReport& tensor : report.outputs) {
        report.bytes_written += tensor.bytes;
      }
    }
    reports_.push_back(std::move(report));
  }

  std::vector<SegmentReport> result() {
    return std::move(reports_);
  }

 private:
  void explainBorders(const SegmentedGroup& group, SegmentReport& report) const {
    if (report.kind != SegmentReport::Kind::Kernel) {
      report.reason = group.reason;
      return;
    }
    for (const Val* in : group.inputs) {
      const auto maker = makers_.find(in);
      if (maker == makers_.end()) {
        continue;
      }
      const SegmentReport& other = reports_[maker->second];
      const std::string from =
          detail::concat(nameOf(in), " comes from segment ", maker->second, ", a ");
      if (other.kind != SegmentReport::Kind::Kernel) {
        report.apart.push_back(from + std::string(kindName(other.kind)) + ": " + other.reason);
      } else if (group.apart.empty()) {
        report.apart.push_back(from + "kernel: a library call lies between the two");
      }
    }
    report.apart.insert(report.apart.end(), group.apart.begin(), group.apart.end());
  }

  const Fusion& fusion_;
  const KernelSegment::SizeOf& size_of_;
  std::vector<SegmentReport> reports_;
  std::unordered_map<const Val*, size_t> makers_;
};

} // namespace

std::vector<SegmentReport> reportSegments(
    const FusionKernelRuntime& runtime,
    const KernelSegment::SizeOf& size_of,
    const LaunchPlan* plan) {
  Reporter reporter(runtime.fusion(), size_of);
  for (const FusionKernelRuntime::Segment& segment : runtime.segments()) {
    SegmentReport report{kindOf(segment.group, segment.kernel != nullptr)};
    if (segment.kernel != nullptr) {
      reportKernel(segment, size_of, plan, report);
    } else {
      report.scheduler = report.kind == SegmentReport::Kind::View ? "no_op" : "expr_eval";
    }
    reporter.add(segment.group, std::move(report));
  }
  return reporter.result();
}

std::vector<SegmentReport> planSegments(const Fusion& fusion) {
  const std::unique_ptr<Fusion> copy = fusion.clone();
  const FusionGuard guard(copy.get());
  runPipeline(*copy);
  const bool generates = isOptionEnabled("generated_kernels");
  const auto why_not = [&](const Expr* expr) -> std::string {
    return generates ? whyNotInCpuKernel(expr) : "generated kernels are not enabled";
  };
  const KernelSegment::SizeOf size_of = [](const Val*) { return ScalarValue(); };
  Reporter reporter(*copy, size_of);
  for (const SegmentedGroup& group : segmentFusion(*copy, why_not)) {
    SegmentReport report{kindOf(group, group.is_kernel)};
    if (report.kind != SegmentReport::Kind::Kernel) {
      report.scheduler = report.kind == SegmentReport::Kind::View ? "no_op" : "expr_eval";
    }
    reporter.add(group, std::move(report));
  }
  return reporter.result();
}

std::string scheduledText(const FusionKernelRuntime& runtime, bool transforms) {
  std::string text;
  for (size_t i = 0; i < runtime.segments().size(); ++i) {
    const FusionKernelRuntime::Segment& segment = runtime.segments()[i];
    if (segment.kernel == nullptr) {
      text += detail::concat("segment ", i, " (aten: ", segment.group.reason, "):\n");
      for (const Expr* expr : segment.group.exprs) {
        text += expr->toString();
      }
      continue;
    }
    const ScheduleResult& schedule = segment.kernel->schedule();
    text +=
        detail::concat("segment ", i, " (", schedule.scheduler, ": ", schedule.heuristics, "):\n");
    const Fusion& fusion = segment.kernel->fusion();
    text += fusion.printMath();
    if (!transforms) {
      continue;
    }
    text += "%transforms {\n";
    for (const TensorView* tv : fusion.tensorViews()) {
      text += tv->toString() + (tv->isInlined() ? " inlined" : "") + "\n";
      if (tv->hasRoot()) {
        for (const Expr* expr : transformsBetween(tv->getRootDomain(), tv->getLogicalDomain())) {
          text += " root to logical: " + expr->toString();
        }
      }
      for (const Expr* expr : transformsBetween(tv->getLogicalDomain(), tv->getLoopDomain())) {
        text += " logical to loop: " + expr->toString();
      }
    }
    text += "} // %transforms\n\n";
  }
  return text;
}

} // namespace nvfuser
