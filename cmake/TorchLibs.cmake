# Finds the torch that Python imports and offers it as nvfuser_torch, without torch's own CMake package, which asks for
# the CUDA toolkit when torch is a CUDA build.
#
# Sets NVFUSER_TORCH_VERSION (base version, no local part), NVFUSER_TORCH_LIB_DIR, NVFUSER_TORCH_ABI_DEFINITION.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)

execute_process(
  COMMAND "${Python_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/cmake/describe_torch.py"
  OUTPUT_VARIABLE _torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE _error RESULT_VARIABLE _status)
if(NOT _status EQUAL 0)
  string(STRIP "${_error}" _error)
  message(FATAL_ERROR "${_error}")
endif()
list(GET _torch 0 NVFUSER_TORCH_VERSION)
list(GET _torch 1 _torch_root)
list(GET _torch 2 _cxx11_abi)
message(STATUS "torch ${NVFUSER_TORCH_VERSION} in ${_torch_root}")

set(NVFUSER_TORCH_LIB_DIR "${_torch_root}/lib")
set(NVFUSER_TORCH_ABI_DEFINITION "_GLIBCXX_USE_CXX11_ABI=${_cxx11_abi}")

add_library(nvfuser_torch_headers INTERFACE)
target_include_directories(nvfuser_torch_headers SYSTEM INTERFACE
    "${_torch_root}/include" "${_torch_root}/include/torch/csrc/api/include")
target_compile_definitions(nvfuser_torch_headers INTERFACE ${NVFUSER_TORCH_ABI_DEFINITION})

# For executables: headers and libraries; libtorch.so brings torch's CUDA libraries when there are any.
add_library(nvfuser_torch INTERFACE)
target_link_libraries(nvfuser_torch INTERFACE nvfuser_torch_headers)
target_link_options(nvfuser_torch INTERFACE
    "LINKER:--no-as-needed" "LINKER:--allow-shlib-undefined" "LINKER:--disable-new-dtags")
target_link_libraries(nvfuser_torch INTERFACE
    "${NVFUSER_TORCH_LIB_DIR}/libtorch.so" "${NVFUSER_TORCH_LIB_DIR}/libtorch_cpu.so" "${NVFUSER_TORCH_LIB_DIR}/libc10.so")

# Links torch into a library that is installed: by -l, so that CMake adds no absolute path to the rpath.
function(nvfuser_link_torch_without_rpath target)
  set(libraries -ltorch_cpu -lc10)
  if("python" IN_LIST ARGN)
    list(PREPEND libraries -ltorch_python)
  endif()
  target_link_libraries(${target} PRIVATE nvfuser_torch_headers)
  target_link_options(${target} PRIVATE "-L${NVFUSER_TORCH_LIB_DIR}" "LINKER:--allow-shlib-undefined")
  target_link_libraries(${target} PRIVATE ${libraries})
endfunction()

function(nvfuser_link_core_without_rpath target)
  add_dependencies(${target} nvfuser_core)
  target_link_options(${target} PRIVATE "-L${NVFUSER_PACKAGE_DIR}/lib")
  target_link_libraries(${target} PRIVATE -lnvfuser_core)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${NVFUSER_PACKAGE_DIR}/lib/libnvfuser_core.so")
endfunction()

# Some compilers link libstdc++ statically. Torch's libraries use the shared one, and two copies in one process corrupt
# what passes between them, so the shared one is named before the compiler's own choice.
find_library(NVFUSER_SHARED_LIBSTDCXX NAMES libstdc++.so.6)
mark_as_advanced(NVFUSER_SHARED_LIBSTDCXX)
function(nvfuser_share_libstdcxx target)
  if(NVFUSER_SHARED_LIBSTDCXX)
    target_link_libraries(${target} PRIVATE -l:libstdc++.so.6)
  endif()
endfunction()
