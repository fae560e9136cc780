// Data types and the small enums of the IR.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace nvfuser {

/// Columns: enumerator (also the Python name), text in printed IR, bits, category.
#define NVF_FORALL_DATA_TYPES(ROW)                         \
  ROW(Double, "double", 64, Float)                         \
  ROW(Float, "float", 32, Float)                           \
  ROW(Half, "__half", 16, Float)                           \
  ROW(Int, "int64_t", 64, Int)                             \
  ROW(Int32, "int", 32, Int)                               \
  ROW(UInt64, "uint64_t", 64, Int)                         \
  ROW(Index, "nvfuser_index_t", 64, Int)                   \
  ROW(Bool, "bool", 8, Bool)                               \
  ROW(BFloat16, "__bfloat", 16, Float)                     \
  ROW(Float8_e4m3fn, "__e4m3", 8, Float)                   \
  ROW(Float8_e5m2, "__e5m2", 8, Float)                     \
  ROW(Float8_e8m0fnu, "__e8m0", 8, Float)                  \
  ROW(Float4_e2m1fn, "__e2m1", 4, Float)                   \
  ROW(Float4_e2m1fn_x2, "__e2m1_x2", 8, Float)             \
  ROW(ComplexFloat, "std::complex<float>", 64, Complex)    \
  ROW(ComplexDouble, "std::complex<double>", 128, Complex) \
  ROW(Null, "null_type", 0, None)

enum class DataType {
#define NVF_ROW(name, text, bits, category) name,
  NVF_FORALL_DATA_TYPES(NVF_ROW)
#undef NVF_ROW
};

bool isFloatingPointType(DataType dtype);
bool isComplexType(DataType dtype);
/// Integers without Bool.
bool isIntegralType(DataType dtype);
inline bool isBooleanType(DataType dtype) {
  return dtype == DataType::Bool;
}
/// Half, BFloat16, fp8 and fp4: types that arithmetic widens to Float.
bool isLowFloatType(DataType dtype);
inline bool isInclusiveIntegralType(DataType dtype) {
  return isIntegralType(dtype) || isBooleanType(dtype);
}
/// Size in bits; 0 for Null.
int64_t dataTypeSizeBits(DataType dtype);
/// The real type of a complex type's parts; other types are returned as they are.
DataType realTypeOf(DataType dtype);
/// ComplexDouble for Double and wide integers, ComplexFloat for the rest.
DataType complexTypeOf(DataType dtype);
/// Common type of two tensors' types by ATen's rules (Int32 + Int = Int, Half + BFloat16 = Float,
/// ...).
DataType promoteType(DataType a, DataType b);

/// "float", "__half", "int64_t": the text in printed IR.
std::string_view dataTypeText(DataType dtype);
/// "Float", "Half", "Int": the name of the enumerator.
std::string_view dataTypeName(DataType dtype);
std::ostream& operator<<(std::ostream& out, DataType dtype);

enum class ValKind { Scalar, IterDomain, TensorDomain, TensorView };

enum class IterType { Iteration, Reduction, Broadcast, Symbolic };
std::ostream& operator<<(std::ostream& out, IterType type);

/// Columns: enumerator, Python name, text in printed IR.
#define NVF_FORALL_PARALLEL_TYPES(ROW) \
  ROW(DIDx, "mesh_x", "deviceIdx.x")   \
  ROW(DIDy, "mesh_y", "deviceIdx.y")   \
  ROW(DIDz, "mesh_z", "deviceIdx.z")   \
  ROW(BIDx, "grid_x", "blockIdx.x")    \
  ROW(BIDy, "grid_y", "blockIdx.y")    \
  ROW(BIDz, "grid_z", "blockIdx.z")    \
  ROW(TIDx, "block_x", "threadIdx.x")  \
  ROW(TIDy, "block_y", "threadIdx.y")  \
  ROW(TIDz, "block_z", "threadIdx.z")  \
  ROW(Mma, "mma", "MMA")               \
  ROW(Serial, "serial", "S")           \
  ROW(Bulk, "tma", "B")                \
  ROW(Unroll, "unroll", "UR")          \
  ROW(Unswitch, "unswitch", "US")      \
  ROW(Vectorize, "vectorize", "V")     \
  ROW(Stream, "stream", "Stream")

enum class ParallelType {
#define NVF_ROW(name, python, text) name,
  NVF_FORALL_PARALLEL_TYPES(NVF_ROW)
#undef NVF_ROW
};
std::string_view parallelTypeText(ParallelType type);
inline bool isParallelTypeDeviceDim(ParallelType type) {
  return type == ParallelType::DIDx || type == ParallelType::DIDy || type == ParallelType::DIDz;
}

enum class MemoryType { Tensor, Local, Shared, Global, Symmetric };
/// The suffix in printed IR: t, l, s, g, sym.
std::string_view memoryTypeText(MemoryType type);

enum class LoadStoreOpType { Set, SegmenterSet, LdMatrix, CpAsync, Tma };
enum class CacheOp { Unspecified, AllLevels, Streaming, Global };

/// Where the causal diagonal lies when query and key lengths differ. See sdpa_nodes.h.
enum class CausalAlignment { TopLeft, BottomRight };

} // namespace nvfuser
