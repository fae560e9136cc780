# Refuses compilers that cannot build C++20 as used here, and puts ccache in front of the compiler where it is found.

set(_remedy "install g++ 12 or newer (Debian: apt-get install g++) or clang 16 or newer, and name it with CXX=")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    message(FATAL_ERROR "nvfuser needs g++ 12 or newer, found ${CMAKE_CXX_COMPILER_VERSION}: ${_remedy}")
  endif()
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
    message(FATAL_ERROR "nvfuser needs clang 16 or newer, found ${CMAKE_CXX_COMPILER_VERSION}: ${_remedy}")
  endif()
else()
  message(FATAL_ERROR "nvfuser is not built with ${CMAKE_CXX_COMPILER_ID}: ${_remedy}")
endif()

find_program(CCACHE_EXECUTABLE ccache)
if(CCACHE_EXECUTABLE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers are cached only with this sloppiness.
  set(_ccache_settings CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Two clones share entries. Not with clang, whose precompiled headers remember absolute paths.
    list(APPEND _ccache_settings CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1)
    add_compile_options(-fpch-preprocess)
  else()
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${_ccache_settings} ${CCACHE_EXECUTABLE})
endif()
