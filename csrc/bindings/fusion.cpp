#include <bindings/args.h>
#include <bindings/bindings.h>

#include <ir/fusion.h>
#include <runtime/scheduled_kernel.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace nvfuser::bindings {

namespace {

// The fusions that Python made active on one thread, innermost last. Python may drop guards in any
// order and on any thread; what is active is always the innermost guard that is left.
struct GuardStack {
  struct Entry {
    std::shared_ptr<Fusion> fusion;
    bool dropped = false;
  };
  std::vector<std::shared_ptr<Entry>> entries;
  std::optional<FusionGuard> active;

  void update() {
    std::erase_if(entries, [](const auto& entry) { return entry->dropped; });
    active.reset();
    if (!entries.empty()) {
      active.emplace(entries.back()->fusion.get());
    }
  }
};

GuardStack& guardStack() {
  thread_local GuardStack stack;
  return stack;
}

class PyFusionGuard {
 public:
  explicit PyFusionGuard(std::shared_ptr<Fusion> fusion)
      : entry_(std::make_shared<GuardStack::Entry>(GuardStack::Entry{std::move(fusion)})),
        thread_(std::this_thread::get_id()) {
    guardStack().entries.push_back(entry_);
    guardStack().update();
  }
  ~PyFusionGuard() {
    drop();
  }
  PyFusionGuard(const PyFusionGuard&) = delete;
  PyFusionGuard& operator=(const PyFusionGuard&) = delete;

  void drop() {
    if (entry_->dropped) {
      return;
    }
    entry_->dropped = true;
    // Another thread's stack keeps the entry, and so the fusion, until that thread uses its stack
    // again.
    if (thread_ == std::this_thread::get_id()) {
      guardStack().update();
    }
  }

 private:
  std::shared_ptr<GuardStack::Entry> entry_;
  std::thread::id thread_;
};

Val* fusionMember(Val* val, Fusion& fusion, const char* what) {
  NVF_CHECK(
      val->fusion() == &fusion,
      what,
      ": ",
      val->toString(),
      " belongs to another Fusion than the one being defined");
  return val;
}

void addOutput(Fusion& self, const ScalarVal& output) {
  NVF_CHECK(
      false,
      "add_output: only tensors can be outputs, not the scalar ",
      output.val->toInlineString());
  static_cast<void>(self);
}

} // namespace

void bindFusion(py::module_& m) {
  py::class_<Fusion, std::shared_ptr<Fusion>>(
      m, "Fusion", "A graph of operations with its inputs, outputs and in-place outputs.")
      .def(py::init([] { return std::make_shared<Fusion>(); }), "An empty fusion.")
      .def(
          "__eq__",
          [](const Fusion& self, const py::object& other) -> py::object {
            if (!py::isinstance<Fusion>(other)) {
              return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            }
            return py::bool_(self.equals(other.cast<const Fusion&>()));
          },
          py::arg("other"),
          "True for the same inputs, operations, outputs and in-place outputs.")
      .def("__hash__", &Fusion::hash)
      .def("__str__", [](const Fusion& self) { return self.printMath(); })
      .def(
          "inputs", [](Fusion& self) { return handlesOf(self.inputs()); }, "The list of inputs.")
      .def(
          "outputs",
          [](Fusion& self) { return handlesOf(self.outputs()); },
          "The list of outputs, hidden in-place ones included.")
      .def(
          "vals", [](Fusion& self) { return handlesOf(self.vals()); }, "Every value.")
      .def(
          "exprs",
          [](Fusion& self) { return handlesOf(self.exprs()); },
          "The operations that lead to an output, producers first.")
      .def(
          "add_input",
          [](Fusion& self, const std::shared_ptr<Val>& input) {
            NVF_CHECK_AS(Type, input != nullptr, "add_input: None is no value");
            self.addInput(input.get());
          },
          py::arg("input"),
          "Makes a tensor or symbolic scalar an input. RuntimeError when it is one already, has a "
          "definition or belongs to another fusion.")
      .def(
          "add_output",
          [](Fusion& self, const Tensor& output) {
            self.addOutput(fusionMember(output.tv, self, "add_output"));
          },
          py::arg("output"),
          "Appends an output. The same tensor may be added more than once.")
      .def(
          "add_output",
          [](Fusion& self, const Tensor& output, const Tensor& alias_input) {
            fusionMember(output.tv, self, "add_output");
            fusionMember(alias_input.tv, self, "add_output");
            self.addAliasOutput(output.tv, alias_input.tv);
          },
          py::arg("output"),
          py::arg("alias_input"),
          "Writes `output` into the storage of the fusion input `alias_input`; it is returned only "
          "if "
          "it is also added plainly. RuntimeError unless alias_input is an input of the same dtype "
          "and rank.")
      .def("add_output", &addOutput, py::arg("output"), "Scalars are refused with RuntimeError.")
      .def(
          "print_math",
          &Fusion::printMath,
          py::arg("from_outputs_only") = true,
          "The operations as text; with from_outputs_only=False also those that no output needs.")
      .def(
          "print_kernel",
          [](const Fusion& self, const py::object&) { return scheduledKernelText(self); },
          py::arg("compile_params") = py::none(),
          R"(The C++ text of the CPU kernel that the fusion becomes, as one kernel, by the schedule of its tensors.

A tensor that inline_most or inline_at computes at the innermost loops of its users has no loops of its own. The kernels
of automatic schedules are those of FusionDefinition.last_kernel_code(). compile_params changes nothing on the CPU.
RuntimeError when an operation is none of generated kernels (matmul, attention, ...) or the schedule cannot be carried
out.)")
      .def(
          "_canonical_text",
          &Fusion::canonicalText,
          "Equal for two fusions exactly when they are equal.")
      .def(
          "_visible_outputs",
          &Fusion::visibleOutputs,
          "Indices of the outputs that a run returns.");

  py::class_<PyFusionGuard>(
      m, "FusionGuard", "Makes a fusion the one that operations are added to, while alive.")
      .def(py::init<std::shared_ptr<Fusion>>(), py::arg("fusion").none(false))
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](PyFusionGuard& self, const py::args&) { self.drop(); });

  m.def(
      "_active_fusion",
      []() -> py::object {
        Fusion* fusion = FusionGuard::active();
        return fusion == nullptr ? py::none() : py::cast(fusion->shared_from_this());
      },
      "The fusion that operations are added to on this thread, or None.");
  m.def(
      "translate_fusion",
      [](const Fusion& fusion) { return fusion.toPython(); },
      py::arg("fusion"),
      "The text of a Python function nvfuser_fusion(fd) that defines the same fusion.");
}

} // namespace nvfuser::bindings
