# Tests of the emulated CUDA runtime itself; cmake/cuda.cmake says where there is one.
if(HOCKET_HAS_EMULATION)
  file(GLOB runtime_sources CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/tests/cuda/emulation/emulated_*.cc")
  hocket_test_executable(emulation_test "${PROJECT_SOURCE_DIR}/tests/cuda/emulation_test.cc" tests)
  target_sources(emulation_test PRIVATE ${runtime_sources})
  target_include_directories(emulation_test PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests"
    "${PROJECT_SOURCE_DIR}/tests/cuda")
  target_include_directories(emulation_test SYSTEM PRIVATE "${HOCKET_CUDA_INCLUDE}")
  target_compile_definitions(emulation_test PRIVATE HKI_CUDA_EMULATED)
  target_compile_options(emulation_test PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<BOOL:${HOCKET_WERROR}>:-Werror>)
  set_target_properties(emulation_test PROPERTIES
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_link_libraries(emulation_test PRIVATE hocket_flags Threads::Threads)
  hocket_test(unit.cuda_emulation unit emulation_test)
endif()
