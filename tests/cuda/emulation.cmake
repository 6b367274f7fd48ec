# The emulated CUDA runtime: hocket_cuda_emulation, an archive that stands in for cudart_static, where the
# toolkit's headers are. Its unit test. HOCKET_CUDA_INCLUDE_DIR: the folder of cuda_runtime_api.h.
find_path(HOCKET_CUDA_INCLUDE_DIR cuda_runtime_api.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
mark_as_advanced(HOCKET_CUDA_INCLUDE_DIR)

if(HOCKET_CUDA_INCLUDE_DIR)
  enable_language(CXX)
  set(CMAKE_CXX_STANDARD 17)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)

  # How sources of CUDA, C or C++, are compiled for the emulation, and what they are linked with.
  add_library(hocket_cuda_emulated_flags INTERFACE)
  target_include_directories(hocket_cuda_emulated_flags INTERFACE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests/cuda")
  target_include_directories(hocket_cuda_emulated_flags SYSTEM INTERFACE "${HOCKET_CUDA_INCLUDE_DIR}")
  target_compile_definitions(hocket_cuda_emulated_flags INTERFACE _GNU_SOURCE HKI_CUDA_EMULATED)
  target_compile_options(hocket_cuda_emulated_flags INTERFACE
    -fPIC -fvisibility=hidden -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -Wall -Wextra -Wpedantic
    -Wconversion -Wshadow $<$<BOOL:${HOCKET_WERROR}>:-Werror> $<$<BOOL:${HOCKET_SANITIZE}>:${sanitizers}>)
  target_link_options(hocket_cuda_emulated_flags INTERFACE
    $<$<BOOL:${HOCKET_SANITIZE}>:${sanitizers}>)
  target_link_libraries(hocket_cuda_emulated_flags INTERFACE Threads::Threads)

  file(GLOB emulation_sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/tests/cuda/emulation/emulated_*.cc")
  list(FILTER emulation_sources EXCLUDE REGEX "emulated_(cublaslt|cudnn|nccl)")
  add_library(hocket_cuda_emulation STATIC ${emulation_sources})
  target_link_libraries(hocket_cuda_emulation PUBLIC hocket_cuda_emulated_flags)

  hocket_test_executable(emulation_test "${PROJECT_SOURCE_DIR}/tests/cuda/emulation_test.cc" tests)
  target_include_directories(emulation_test PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(emulation_test PRIVATE hocket_cuda_emulation)
  hocket_test(unit.cuda_emulation unit emulation_test)
endif()
