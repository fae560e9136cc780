#include <bindings/args.h>
#include <bindings/bindings.h>

#include <analysis/id_model.h>

namespace nvfuser::bindings {

void bindIdModel(py::module_& idm) {
  using Sets = DisjointSets<IterDomain*>;
  py::class_<Sets>(idm, "DisjointValSets", "Sets of IterDomains that are one dimension.")
      .def(
          "strict_are_mapped",
          [](const Sets& self, IterDomain& entry0, IterDomain& entry1) {
            return self.strictAreMapped(&entry0, &entry1);
          },
          py::arg("entry0"),
          py::arg("entry1"),
          "True when both are in one set. RuntimeError when one of them is in no set.");
  py::class_<ValGraph>(idm, "ValGraph", "Sets of IterDomains and the transforms between them.")
      .def(
          "disjoint_val_sets",
          &ValGraph::disjointValSets,
          py::return_value_policy::reference_internal,
          "The sets of IterDomains.")
      .def(
          "map_vals",
          [](ValGraph& self, IterDomain& val0, IterDomain& val1) { self.mapVals(&val0, &val1); },
          py::arg("val0"),
          py::arg("val1"),
          "Takes two IterDomains as one, with everything that follows from it.")
      .def("__str__", &ValGraph::toString);
  py::class_<IdModel>(idm, "IdModel", "The graphs of a fusion, one for each IdMappingMode.")
      .def(
          py::init(
              [](const Fusion& fusion, bool build_graphs, bool allow_self_mapping, bool validate) {
                return std::make_unique<IdModel>(
                    &fusion, build_graphs, allow_self_mapping, validate);
              }),
          py::arg("fusion"),
          py::arg("build_graphs") = false,
          py::arg("allow_self_mapping") = true,
          py::arg("validate") = false,
          py::keep_alive<1, 2>(),
          "RuntimeError when allow_self_mapping is False and two dims of one tensor are the same "
          "dim.")
      .def(
          "maybe_build_graph",
          &IdModel::maybeBuildGraph,
          py::arg("mode"),
          py::return_value_policy::reference_internal,
          "The graph of an IdMappingMode, built when first asked for.");
}

} // namespace nvfuser::bindings
