# NVIDIA GPUs, in a plug-in that the library opens where there is reason to: libhocket_cuda.so. The library itself
# needs no CUDA, neither to build nor to run.
#
#   hocket_cuda           by nvcc, where HOCKET_CUDA says so
#   hocket_cuda_emulated  the same sources by a C++ compiler, with tests/cuda/emulation/ in the place of the CUDA
#                         runtime: for tests without a GPU. Needs the toolkit's headers, no nvcc.
#
# Cache variables: HOCKET_CUDA, HOCKET_NVCC, HOCKET_PACKAGES_PYTHON, HOCKET_CUDNN_INCLUDE, HOCKET_NCCL_INCLUDE, CMAKE_CUDA_COMPILER, CMAKE_CUDA_ARCHITECTURES.

include(package_includes)

set(cuda_files "${PROJECT_SOURCE_DIR}/src/device/cuda/*" "${PROJECT_SOURCE_DIR}/src/op/cuda/*" "${PROJECT_SOURCE_DIR}/src/op/*/cuda_*")
list(TRANSFORM cuda_files APPEND ".c" OUTPUT_VARIABLE cuda_c_globs)
list(TRANSFORM cuda_files APPEND ".cu" OUTPUT_VARIABLE cuda_cu_globs)
file(GLOB cuda_c_sources CONFIGURE_DEPENDS ${cuda_c_globs})
file(GLOB cuda_cu_sources CONFIGURE_DEPENDS ${cuda_cu_globs})
list(REMOVE_DUPLICATES cuda_c_sources)
list(FILTER cuda_c_sources EXCLUDE REGEX "(_test|/cuda_loader)\\.c$")

# ---- what there is
if(NOT HOCKET_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "HOCKET_CUDA is \"${HOCKET_CUDA}\"; it may be AUTO, ON or OFF")
endif()
if(NOT HOCKET_CUDA STREQUAL "OFF")
  find_program(HOCKET_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin
               DOC "CUDA's compiler")
  find_path(HOCKET_CUDA_INCLUDE cuda_runtime_api.h HINTS ENV CUDA_PATH ENV CUDA_HOME
            PATHS /usr/local/cuda PATH_SUFFIXES include DOC "Headers of the CUDA toolkit")
  mark_as_advanced(HOCKET_NVCC HOCKET_CUDA_INCLUDE)
  # Of libraries that the toolkit has no part in: its packages leave them out, or they lie elsewhere.
  # pip has them, too: below each folder that the Python of the path takes packages from.
  set(cuda_missing "")
  set(cuda_include "${HOCKET_CUDA_INCLUDE}")
  set(package_includes "")
  find_program(HOCKET_PACKAGES_PYTHON python3 DOC "The Python whose packages may have headers of NVIDIA's")
  mark_as_advanced(HOCKET_PACKAGES_PYTHON)
  if(HOCKET_PACKAGES_PYTHON)
    hocket_package_includes(package_includes "${HOCKET_PACKAGES_PYTHON}")
  endif()
  foreach(header cudnn nccl)
    string(TOUPPER ${header} upper)
    find_path(HOCKET_${upper}_INCLUDE ${header}.h HINTS "${HOCKET_CUDA_INCLUDE}" PATHS ${package_includes}
              DOC "The folder of ${header}.h")
    mark_as_advanced(HOCKET_${upper}_INCLUDE)
    if(HOCKET_${upper}_INCLUDE)
      list(APPEND cuda_include "${HOCKET_${upper}_INCLUDE}")
    else()
      list(APPEND cuda_missing "${header}.h (-DHOCKET_${upper}_INCLUDE=/its/folder)")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES cuda_include)
  list(JOIN cuda_missing " and " cuda_missing)
  if(HOCKET_CUDA STREQUAL "ON" AND NOT (HOCKET_NVCC OR CMAKE_CUDA_COMPILER))
    message(FATAL_ERROR "HOCKET_CUDA is ON, but there is no nvcc: install the CUDA toolkit, name its "
                        "compiler with -DHOCKET_NVCC=/path/to/nvcc, or set -DHOCKET_CUDA=OFF")
  endif()
  if(HOCKET_CUDA STREQUAL "ON" AND cuda_missing)
    message(FATAL_ERROR "HOCKET_CUDA is ON, but there is no ${cuda_missing}")
  elseif(cuda_missing AND (HOCKET_NVCC OR HOCKET_CUDA_INCLUDE))
    message(STATUS "No plug-in for NVIDIA GPUs: there is no ${cuda_missing}")
  endif()
endif()

# A sanitizer knows nothing of GPUs; the emulation is built with it instead.
set(HOCKET_HAS_CUDA OFF)
if(NOT HOCKET_CUDA STREQUAL "OFF" AND HOCKET_NVCC AND NOT cuda_missing AND NOT HOCKET_SANITIZE)
  set(HOCKET_HAS_CUDA ON)
endif()
file(GLOB emulation_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cuda/emulation/*.c"
                                              "${PROJECT_SOURCE_DIR}/tests/cuda/emulation/*.cc")
set(HOCKET_HAS_EMULATION OFF)
if(HOCKET_ALL_TESTS AND HOCKET_CUDA_INCLUDE AND NOT cuda_missing AND emulation_sources
   AND NOT HOCKET_CUDA STREQUAL "OFF")
  set(HOCKET_HAS_EMULATION ON)
endif()
message(STATUS "Plug-in for NVIDIA GPUs: ${HOCKET_HAS_CUDA}; its emulation for tests: ${HOCKET_HAS_EMULATION}")

# ---- the plug-in
if(HOCKET_HAS_CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER "${HOCKET_NVCC}")
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    # Code for the A100 and the H100, and PTX for what comes after them.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  add_library(hocket_cuda MODULE ${cuda_c_sources} ${cuda_cu_sources})
  target_include_directories(hocket_cuda PRIVATE src include)
  target_include_directories(hocket_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${cuda_include})
  set_target_properties(hocket_cuda PROPERTIES
    CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY None
    CUDA_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  set(cuda_warnings -Wall -Wextra -Wconversion -Wshadow)
  if(HOCKET_WERROR)
    list(APPEND cuda_warnings -Werror)
  endif()
  list(JOIN cuda_warnings "," cuda_warnings)
  target_compile_options(hocket_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo -Xcompiler=${cuda_warnings}>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${HOCKET_WERROR}>>:-Werror=all-warnings>)
  target_link_libraries(hocket_cuda PRIVATE hocket_flags CUDA::cudart_static Threads::Threads ${CMAKE_DL_LIBS}
                                            ${HOCKET_MATH_LIBRARY})
  # What CUDA's runtime takes of the C++ library is inside: a bare machine may have none.
  target_link_options(hocket_cuda PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,-z,defs)
  # As on the processor (CMakeLists.txt): a * b + c is rounded twice, but where speed is products of floats.
  set(fused_sources ${cuda_cu_sources})
  list(FILTER fused_sources INCLUDE REGEX "/(conv/cuda_conv2d_[a-z_]*|matmul/cuda_matrix|softmax_norm/cuda_(channel|row_norm))_kernels\\.cu$")
  set(exact_sources ${cuda_cu_sources})
  list(REMOVE_ITEM exact_sources ${fused_sources})
  set_property(SOURCE ${exact_sources} APPEND PROPERTY COMPILE_OPTIONS --fmad=false)
endif()

# ---- its emulation
if(HOCKET_HAS_EMULATION)
  # The C compiler's sibling, because a program has one sanitizer's runtime.
  if(NOT CMAKE_CXX_COMPILER AND CMAKE_C_COMPILER_ID MATCHES "Clang")
    string(REGEX REPLACE "clang([^/]*)$" "clang++\\1" sibling "${CMAKE_C_COMPILER}")
    if(EXISTS "${sibling}")
      set(CMAKE_CXX_COMPILER "${sibling}")
    endif()
  endif()
  enable_language(CXX)
  set(emulated_sources "")
  foreach(source IN LISTS cuda_cu_sources)
    # A source of another name: in this folder .cu is for nvcc.
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src" OUTPUT_VARIABLE name)
    set(wrapper "${PROJECT_BINARY_DIR}/emulated/${name}.cc")
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${name}\"\n" @ONLY)
    list(APPEND emulated_sources "${wrapper}")
  endforeach()
  # As objects, so that unit tests reach them; those of the runtime alone for tests of it.
  set(emulated_runtime_sources ${emulation_sources})
  list(FILTER emulated_runtime_sources INCLUDE REGEX "\\.cc$")
  list(FILTER emulation_sources EXCLUDE REGEX "\\.cc$")
  add_library(hocket_emulated_runtime OBJECT ${emulated_runtime_sources})
  add_library(hocket_cuda_objects OBJECT ${cuda_c_sources} ${emulated_sources} ${emulation_sources})
  foreach(objects hocket_emulated_runtime hocket_cuda_objects)
    target_include_directories(${objects} PRIVATE src include tests/cuda)
    target_include_directories(${objects} SYSTEM PUBLIC ${cuda_include})
    target_compile_definitions(${objects} PRIVATE HKI_CUDA_EMULATED)
    set_target_properties(${objects} PROPERTIES
      CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden)
    target_compile_options(${objects} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fPIC -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -ffp-contract=off -Wall -Wextra -Wconversion -Wshadow>
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${HOCKET_WERROR}>>:-Werror>)
    if(NOT HOCKET_SANITIZE) # which finds that out, too: on a GPU, what is read or written in one go is to be aligned
      target_compile_options(${objects} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=alignment -fsanitize-undefined-trap-on-error>)
    endif()
    target_link_libraries(${objects} PRIVATE hocket_flags
                                     INTERFACE Threads::Threads ${CMAKE_DL_LIBS} ${HOCKET_MATH_LIBRARY})
  endforeach()
  add_library(hocket_cuda_emulated MODULE $<TARGET_OBJECTS:hocket_cuda_objects>
                                          $<TARGET_OBJECTS:hocket_emulated_runtime>)
  target_link_libraries(hocket_cuda_emulated PRIVATE hocket_flags Threads::Threads
                                                     ${CMAKE_DL_LIBS} ${HOCKET_MATH_LIBRARY})
  set_target_properties(hocket_cuda_emulated PROPERTIES
    LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
endif()
