# Finds ONE flavour of BLAS by its own path: a single-threaded OpenBLAS, as a static library.
#
# Debian's flavours replace each other behind one name (libblas.so.3, libopenblas.so.0, through the
# alternatives system), so the link name alone never says what runs; this file looks only inside a
# flavour's own folder. Static, so that no other BLAS in the process can stand in for it, and so that
# src/op/matmul/openblas_memory.c can take the place of OpenBLAS's memory.c, whose serial form mixes up
# the products of several threads. docs/measurements/blas.md says why OpenBLAS.
#
# To choose another build of it, set HOCKET_BLAS:
#   openblas-serial           Debian's
#   /path/to/libopenblas.a    a library file; its cblas.h beside it, or in HOCKET_BLAS_INCLUDE_DIR
#
# Gives HocketBlas::HocketBlas, and HocketBlas_LIBRARY, the file.

set(HOCKET_BLAS "openblas-serial" CACHE STRING "BLAS: openblas-serial, or a static serial libopenblas.a")
set(HOCKET_BLAS_INCLUDE_DIR "" CACHE PATH "Folder of cblas.h, where HOCKET_BLAS is a file")

unset(HocketBlas_LIBRARY)
unset(HocketBlas_INCLUDE_DIR)

if(IS_ABSOLUTE "${HOCKET_BLAS}")
  set(HocketBlas_libraries "${HOCKET_BLAS}")
  cmake_path(GET HOCKET_BLAS PARENT_PATH HocketBlas_include_dirs)
  if(HOCKET_BLAS_INCLUDE_DIR)
    set(HocketBlas_include_dirs "${HOCKET_BLAS_INCLUDE_DIR}")
  endif()
  if(NOT HOCKET_BLAS MATCHES "\\.a$")
    message(FATAL_ERROR "HOCKET_BLAS is \"${HOCKET_BLAS}\"; a library file must be static (.a)")
  endif()
elseif(HOCKET_BLAS STREQUAL "openblas-serial")
  set(HocketBlas_libraries
      "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${HOCKET_BLAS}/libopenblas.a")
  set(HocketBlas_include_dirs "/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/${HOCKET_BLAS}")
else()
  message(FATAL_ERROR "HOCKET_BLAS is \"${HOCKET_BLAS}\"; it may be openblas-serial or the path of a "
                      "static, single-threaded libopenblas.a")
endif()

if(EXISTS "${HocketBlas_libraries}")
  set(HocketBlas_LIBRARY "${HocketBlas_libraries}")
endif()
if(EXISTS "${HocketBlas_include_dirs}/cblas.h")
  set(HocketBlas_INCLUDE_DIR "${HocketBlas_include_dirs}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HocketBlas
  REQUIRED_VARS HocketBlas_LIBRARY HocketBlas_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "looked for ${HocketBlas_libraries} and ${HocketBlas_include_dirs}/cblas.h. \
On Debian install libopenblas-serial-dev, elsewhere set HOCKET_BLAS to the path of a single-threaded \
libopenblas.a (see cmake/FindHocketBlas.cmake)")

if(HocketBlas_FOUND AND NOT TARGET HocketBlas::HocketBlas)
  add_library(HocketBlas::HocketBlas STATIC IMPORTED)
  set_target_properties(HocketBlas::HocketBlas PROPERTIES
    IMPORTED_LOCATION "${HocketBlas_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HocketBlas_INCLUDE_DIR}")
endif()
