# One program per bench/bench_*.c, in <build>/bench/; other sources there are parts of them. None of them
# is a test.
file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/bench_*.c")

foreach(source IN LISTS bench_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} "${source}")
  hocket_use_internal(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/bench")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
endforeach()

target_sources(bench_engine PRIVATE "${PROJECT_SOURCE_DIR}/bench/engine_patterns.c"
                                    "${PROJECT_SOURCE_DIR}/bench/mutex_pool.c")
target_sources(bench_trace PRIVATE "${PROJECT_SOURCE_DIR}/bench/engine_patterns.c")

# bench_conv2d compares with oneDNN where it is installed. Its CMake package asks for OpenCL, which
# nothing here uses; the C header and the library are all that is needed.
if(TARGET bench_conv2d)
  find_path(HOCKET_DNNL_INCLUDE_DIR dnnl.h)
  find_library(HOCKET_DNNL_LIBRARY dnnl)
  find_library(HOCKET_GOMP_LIBRARY NAMES gomp libgomp.so.1)  # to hold oneDNN to one thread
  mark_as_advanced(HOCKET_DNNL_INCLUDE_DIR HOCKET_DNNL_LIBRARY HOCKET_GOMP_LIBRARY)
  if(HOCKET_DNNL_INCLUDE_DIR AND HOCKET_DNNL_LIBRARY AND HOCKET_GOMP_LIBRARY)
    target_compile_definitions(bench_conv2d PRIVATE HAVE_DNNL=1)
    target_include_directories(bench_conv2d SYSTEM PRIVATE "${HOCKET_DNNL_INCLUDE_DIR}")
    target_link_libraries(bench_conv2d PRIVATE "${HOCKET_DNNL_LIBRARY}" "${HOCKET_GOMP_LIBRARY}")
  endif()
endif()

target_sources(bench_models PRIVATE "${PROJECT_SOURCE_DIR}/bench/models.c"
                                    "${PROJECT_SOURCE_DIR}/bench/resnet18.c")
