#include <bindings/bindings.h>

#include <analysis/id_graph.h>
#include <ir/type.h>
#include <scheduler/chosen.h>

namespace nvfuser::bindings {

namespace py = pybind11;

namespace {

// Choices that only schedulers and code generators read; they are values without behaviour here.
enum class CommunicatorBackend { Nccl, Ucc, Cuda };
enum class MatmulTilingStrategy {
  OneTilePerCta,
  DistributeTilesAcrossSms,
  DistributeStagesAcrossSms
};
enum class MatmulBufferingLoopLevel { CtaTiles, WarpTiles };
enum class MatmulCircularBufferingStrategy { Pipelined, WarpSpecialized };
enum class MatmulTileRasterizationOrder { ColumnMajor, RowMajor };
enum class MmaMacroArch { NoMma, Volta, Turing, Ampere, Hopper, Blackwell1Cta, Blackwell2Cta };

template <typename E>
void bindEnum(
    py::module_& m,
    const char* name,
    const char* doc,
    std::initializer_list<std::pair<const char*, E>> members) {
  py::enum_<E> bound(m, name, doc);
  for (const auto& [member, value] : members) {
    bound.value(member, value);
  }
}

} // namespace

void bindEnums(py::module_& m) {
  py::enum_<DataType> data_type(m, "DataType", "Element types of tensors and types of scalars.");
#define NVF_ROW(name, text, bits, category) data_type.value(#name, DataType::name);
  NVF_FORALL_DATA_TYPES(NVF_ROW)
#undef NVF_ROW
  py::enum_<ParallelType> parallel_type(
      m, "ParallelType", "What a loop of a scheduled tensor is mapped to.");
#define NVF_ROW(name, python, text) parallel_type.value(python, ParallelType::name);
  NVF_FORALL_PARALLEL_TYPES(NVF_ROW)
#undef NVF_ROW
  bindEnum<CommunicatorBackend>(
      m,
      "CommunicatorBackend",
      "Libraries for communication between devices.",
      {{"nccl", CommunicatorBackend::Nccl},
       {"ucc", CommunicatorBackend::Ucc},
       {"cuda", CommunicatorBackend::Cuda}});
  bindEnum<SchedulerType>(
      m,
      "SchedulerType",
      "What turns a segment into a kernel, or evaluates it.",
      {{"none", SchedulerType::None},
       {"no_op", SchedulerType::NoOp},
       {"pointwise", SchedulerType::PointWise},
       {"matmul", SchedulerType::Matmul},
       {"reduction", SchedulerType::Reduction},
       {"inner_persistent", SchedulerType::InnerPersistent},
       {"inner_outer_persistent", SchedulerType::InnerOuterPersistent},
       {"outer_persistent", SchedulerType::OuterPersistent},
       {"transpose", SchedulerType::Transpose},
       {"expr_eval", SchedulerType::ExprEval},
       {"resize", SchedulerType::Resize}});
  bindEnum<LoadStoreOpType>(
      m,
      "LoadStoreOpType",
      "How a copy moves its data.",
      {{"set", LoadStoreOpType::Set},
       {"load_matrix", LoadStoreOpType::LdMatrix},
       {"cp_async", LoadStoreOpType::CpAsync},
       {"tma", LoadStoreOpType::Tma}});
  bindEnum<MemoryType>(
      m,
      "MemoryType",
      "Where a tensor lives while a kernel runs.",
      {{"tensor", MemoryType::Tensor},
       {"local", MemoryType::Local},
       {"shared", MemoryType::Shared},
       {"global", MemoryType::Global},
       {"symmetric", MemoryType::Symmetric}});
  bindEnum<CacheOp>(
      m,
      "CacheOp",
      "Cache hint of a load.",
      {{"unspecified", CacheOp::Unspecified},
       {"all_levels", CacheOp::AllLevels},
       {"streaming", CacheOp::Streaming},
       {"global", CacheOp::Global}});
  bindEnum<IdMappingMode>(
      m,
      "IdMappingMode",
      "Which IterDomains an IdModel graph takes as one.",
      {{"exact", IdMappingMode::Exact},
       {"almost_exact", IdMappingMode::AlmostExact},
       {"broadcast", IdMappingMode::Broadcast},
       {"permissive", IdMappingMode::Permissive},
       {"loop", IdMappingMode::Loop}});
  bindEnum<MatmulTilingStrategy>(
      m,
      "MatmulTilingStrategy",
      "How output tiles of a matrix product are given to thread blocks.",
      {{"one_tile_per_cta", MatmulTilingStrategy::OneTilePerCta},
       {"distribute_tiles_across_sms", MatmulTilingStrategy::DistributeTilesAcrossSms},
       {"distribute_stages_across_sms", MatmulTilingStrategy::DistributeStagesAcrossSms}});
  bindEnum<MatmulBufferingLoopLevel>(
      m,
      "MatmulBufferingLoopLevel",
      "The loop whose loads are buffered.",
      {{"cta_tiles", MatmulBufferingLoopLevel::CtaTiles},
       {"warp_tiles", MatmulBufferingLoopLevel::WarpTiles}});
  bindEnum<MatmulCircularBufferingStrategy>(
      m,
      "MatmulCircularBufferingStrategy",
      "How loads and products overlap.",
      {{"pipelined", MatmulCircularBufferingStrategy::Pipelined},
       {"warp_specialized", MatmulCircularBufferingStrategy::WarpSpecialized}});
  bindEnum<MatmulTileRasterizationOrder>(
      m,
      "MatmulTileRasterizationOrder",
      "The order in which tiles are visited.",
      {{"column_major", MatmulTileRasterizationOrder::ColumnMajor},
       {"row_major", MatmulTileRasterizationOrder::RowMajor}});
  bindEnum<MmaMacroArch>(
      m,
      "MmaMacroArch",
      "Generation of the matrix instruction.",
      {{"no_mma", MmaMacroArch::NoMma},
       {"volta", MmaMacroArch::Volta},
       {"turing", MmaMacroArch::Turing},
       {"ampere", MmaMacroArch::Ampere},
       {"hopper", MmaMacroArch::Hopper},
       {"blackwell_1cta", MmaMacroArch::Blackwell1Cta},
       {"blackwell_2cta", MmaMacroArch::Blackwell2Cta}});
}

} // namespace nvfuser::bindings
