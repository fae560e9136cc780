# Puts headers and the CMake package file beside the libraries, where find_package(nvfuser) of a C++ project finds them.

set(NVFUSER_INCLUDE_FOLDERS ir ops analysis passes runtime)

function(nvfuser_add_package_files)
  set(headers)
  foreach(folder ${NVFUSER_INCLUDE_FOLDERS})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/csrc" "${CMAKE_SOURCE_DIR}/csrc/${folder}/*.h")
    list(APPEND headers ${found})
  endforeach()
  set(outputs)
  foreach(header ${headers})
    set(output "${NVFUSER_PACKAGE_DIR}/include/nvfuser/${header}")
    add_custom_command(
      OUTPUT "${output}" DEPENDS "${CMAKE_SOURCE_DIR}/csrc/${header}" VERBATIM
      COMMAND ${CMAKE_COMMAND} -E copy "${CMAKE_SOURCE_DIR}/csrc/${header}" "${output}")
    list(APPEND outputs "${output}")
  endforeach()
  add_custom_target(nvfuser_package_headers ALL DEPENDS ${outputs})
  configure_file("${CMAKE_SOURCE_DIR}/cmake/nvfuserConfig.cmake.in"
                 "${NVFUSER_PACKAGE_DIR}/share/cmake/nvfuser/nvfuserConfig.cmake" @ONLY)
  configure_file("${CMAKE_SOURCE_DIR}/cmake/nvfuserConfigVersion.cmake.in"
                 "${NVFUSER_PACKAGE_DIR}/share/cmake/nvfuser/nvfuserConfigVersion.cmake" @ONLY)
endfunction()
