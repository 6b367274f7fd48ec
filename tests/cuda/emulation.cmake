# Tests of the emulated CUDA runtime itself; cmake/cuda.cmake says where there is one.
if(HOCKET_HAS_EMULATION)
  foreach(name emulation emulation_kernels)
    set(test ${name}_test)
    hocket_test_executable(${test} "${PROJECT_SOURCE_DIR}/tests/cuda/${test}.cc" tests)
    target_include_directories(${test} PRIVATE
      "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests"
      "${PROJECT_SOURCE_DIR}/tests/cuda")
    target_include_directories(${test} SYSTEM PRIVATE ${cuda_include})
    target_compile_definitions(${test} PRIVATE HKI_CUDA_EMULATED)
    target_compile_options(${test} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
      $<$<BOOL:${HOCKET_WERROR}>:-Werror>)
    set_target_properties(${test} PROPERTIES
      CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_link_libraries(${test} PRIVATE hocket_flags hocket_emulated_runtime)
    hocket_test(unit.cuda_${name} unit ${test})
  endforeach()

  # How products become calls of a library.
  hocket_test_executable(product_calls_test "${PROJECT_SOURCE_DIR}/tests/cuda/product_calls_test.c" tests)
  target_sources(product_calls_test PRIVATE "${PROJECT_SOURCE_DIR}/src/op/matmul/cuda_matmul.c")
  target_include_directories(product_calls_test PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests"
    "${PROJECT_SOURCE_DIR}/tests/cuda")
  target_include_directories(product_calls_test SYSTEM PRIVATE ${cuda_include})
  target_compile_definitions(product_calls_test PRIVATE HKI_CUDA_EMULATED)
  set_target_properties(product_calls_test PROPERTIES
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF LINKER_LANGUAGE CXX)
  target_link_libraries(product_calls_test PRIVATE hocket_flags hocket_emulated_runtime)
  hocket_test(unit.cuda_product_calls unit product_calls_test)

  # The plug-in's way to NVIDIA's libraries, on their emulation.
  file(GLOB library_sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/tests/cuda/emulation/emulated_*.c")
  hocket_test_executable(library_calls_test "${PROJECT_SOURCE_DIR}/tests/cuda/library_calls_test.c"
                         tests)
  target_sources(library_calls_test PRIVATE ${library_sources}
    "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_cache.c"
    "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_convolutions.c"
    "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_libraries.c"
    "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_convolution_rules.c"
    "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_products.c")
  target_include_directories(library_calls_test PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests"
    "${PROJECT_SOURCE_DIR}/tests/cuda")
  target_include_directories(library_calls_test SYSTEM PRIVATE ${cuda_include})
  target_compile_definitions(library_calls_test PRIVATE HKI_CUDA_EMULATED)
  set_target_properties(library_calls_test PROPERTIES
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF LINKER_LANGUAGE CXX)
  target_link_libraries(library_calls_test PRIVATE hocket_flags hocket_emulated_runtime)
  hocket_test(unit.cuda_library_calls unit library_calls_test)
  hocket_test(unit.cuda_library_calls.missing unit library_calls_test missing)
  foreach(function cublasLtCreate cublasLtMatmulDescCreate cublasLtMatmulAlgoGetHeuristic cublasLtMatmul cudnnCreate
          cudnnSetConvolution2dDescriptor cudnnSetConvolutionGroupCount cudnnSetConvolutionMathType
          cudnnGetConvolutionForwardAlgorithm_v7
          cudnnConvolutionForward cudnnConvolutionBackwardData cudnnConvolutionBackwardFilter)
    hocket_test(unit.cuda_library_calls.refusing_${function} unit library_calls_test refusing ${function})
  endforeach()
endif()
