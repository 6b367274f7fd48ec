# One program per bench/bench_*.c, in <build>/bench/; other sources there are parts of them. None of them
# is a test.
file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/bench_*.c")

foreach(source IN LISTS bench_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} "${source}")
  hocket_use_internal(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/bench")
  target_compile_options(${name} PRIVATE -ffp-contract=fast) # peak.h measures what a processor can do
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
endforeach()

# bench_sources_of(TARGET SOURCE...): parts from bench/
function(bench_sources_of target)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/bench/")
  target_sources(${target} PRIVATE ${ARGN})
endfunction()

file(GLOB engine_bench_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/bench"
     "${PROJECT_SOURCE_DIR}/bench/engine_*.c")
bench_sources_of(bench_engine ${engine_bench_sources} chart.c spin.c task_patterns.c)
bench_sources_of(bench_trace engine_patterns.c spin.c task_patterns.c)
target_link_libraries(bench_engine PRIVATE ${HOCKET_MATH_LIBRARY})

# ---- Peers of bench_engine: programs of their own, <build>/bench/peers/peer_*, because task runtimes do not
# get on in one process. All of them link the same patterns and the same work.
set(peer_folder "${PROJECT_BINARY_DIR}/bench/peers")
add_library(bench_peer STATIC)
bench_sources_of(bench_peer peers/peer.c spin.c task_patterns.c)
target_link_libraries(bench_peer PRIVATE hocket_flags)
target_include_directories(bench_peer PUBLIC "${PROJECT_SOURCE_DIR}/bench")

add_executable(peer_hocket)
bench_sources_of(peer_hocket peers/hocket.c engine_patterns.c)
hocket_use_internal(peer_hocket)
add_executable(peer_pool)
bench_sources_of(peer_pool peers/pool.c mutex_pool.c)
target_link_libraries(peer_pool PRIVATE hocket_flags Threads::Threads)
foreach(name peer_hocket peer_pool)
  target_link_libraries(${name} PRIVATE bench_peer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${peer_folder}")
  add_dependencies(bench_engine ${name})
endforeach()

# bench_peer(NAME SOURCE LIBRARY COMPILER HEADER OPTION...): a peer, bench/SOURCE, with a library of what peers of its kind share. It is
# built by a compiler of its own, because each OpenMP runtime has one. Where a program with that header does not build, the peer is left
# out, and the benchmark says so.
function(bench_peer name source library compiler header)
  find_program(HOCKET_PEER_${compiler} ${compiler})
  mark_as_advanced(HOCKET_PEER_${compiler})
  set(command "${HOCKET_PEER_${compiler}}")
  cmake_path(GET source EXTENSION extension)
  cmake_path(GET source PARENT_PATH folder)
  if(command AND NOT HOCKET_HAS_PEER_${name})
    set(probe "${PROJECT_BINARY_DIR}/CMakeFiles/peer_${name}${extension}")
    file(WRITE "${probe}" "#include <${header}>\nint main(void) { return 0; }\n")
    execute_process(COMMAND "${command}" -D_GNU_SOURCE "${probe}" -o "${probe}.out" ${ARGN}
                    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(HOCKET_HAS_PEER_${name} ON CACHE INTERNAL "bench/${source} can be built")
    endif()
  endif()
  set(programs "${PROJECT_BINARY_DIR}/bench/${folder}")
  set(program "${programs}/peer_${name}")
  if(NOT command OR NOT HOCKET_HAS_PEER_${name})
    message(STATUS "benchmarks have no peer ${name}: scripts/install-deps bench")
    file(REMOVE "${program}")
    return()
  endif()
  set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(HOCKET_WERROR)
    list(APPEND warnings -Werror)
  endif()
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/${folder}/*.h")
  add_custom_command(OUTPUT "${program}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${programs}"
    COMMAND "${command}" -O3 -g1 -D_GNU_SOURCE ${warnings} -I "${PROJECT_SOURCE_DIR}/bench"
            "${PROJECT_SOURCE_DIR}/bench/${source}" $<TARGET_FILE:${library}> ${bench_libraries_${library}} -o "${program}" ${ARGN}
    DEPENDS ${library} hocket_static "${PROJECT_SOURCE_DIR}/bench/${source}" ${headers}
            "${PROJECT_SOURCE_DIR}/bench/task_patterns.h" "${PROJECT_SOURCE_DIR}/bench/spin.h"
    COMMENT "Building the peer ${name}" VERBATIM)
  add_custom_target(peer_${name} ALL DEPENDS "${program}")
endfunction()

pkg_check_modules(STARPU QUIET starpu-1.3)
list(TRANSFORM STARPU_INCLUDE_DIRS PREPEND -isystem OUTPUT_VARIABLE starpu_includes)
bench_peer(libgomp peers/openmp.c bench_peer gcc omp.h -std=c17 -fopenmp)
bench_peer(libomp peers/openmp.c bench_peer clang omp.h -std=c17 -fopenmp=libomp)
bench_peer(tbb peers/tbb.cc bench_peer g++ oneapi/tbb/flow_graph.h -std=c++17 -ltbb)
bench_peer(starpu peers/starpu.c bench_peer gcc starpu.h -std=c17 ${starpu_includes} ${STARPU_LDFLAGS})
foreach(name libgomp libomp tbb starpu)
  if(TARGET peer_${name})
    add_dependencies(bench_engine peer_${name})
  endif()
endforeach()

# ---- Programs of bench/tasks, <build>/bench/tiles/peer_tiles_*: factorisations, stencils and patterns by several task runtimes. All of them have
# the same kernels, of the BLAS that Hocket has.
add_library(bench_tiles STATIC)
bench_sources_of(bench_tiles tiles/tiles.c tiles/tile_kernels.c tiles/factorisations.c tiles/sweeps.c spin.c)
target_link_libraries(bench_tiles PRIVATE hocket_flags HocketBlas::HocketBlas)
target_include_directories(bench_tiles PUBLIC "${PROJECT_SOURCE_DIR}/bench")
# OpenBLAS's memory.c is not for several threads in its serial form; libhocket.a has another one.
set(bench_libraries_bench_tiles -Wl,-u,blas_memory_alloc $<TARGET_FILE:hocket_static>
    "$<TARGET_PROPERTY:HocketBlas::HocketBlas,IMPORTED_LOCATION>" -lm -lpthread)
add_executable(peer_tiles_hocket)
bench_sources_of(peer_tiles_hocket tiles/hocket.c)
target_link_libraries(peer_tiles_hocket PRIVATE hocket_flags bench_tiles hocket::hocket_static Threads::Threads
                                                ${HOCKET_MATH_LIBRARY})
set_target_properties(peer_tiles_hocket PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench/tiles")
bench_peer(tiles_libgomp tiles/openmp.c bench_tiles gcc omp.h -std=c17 -fopenmp)
bench_peer(tiles_libomp tiles/openmp.c bench_tiles clang omp.h -std=c17 -fopenmp=libomp)
bench_peer(tiles_tbb tiles/tbb.cc bench_tiles g++ oneapi/tbb/flow_graph.h -std=c++17 -ltbb)
bench_peer(tiles_starpu tiles/starpu.c bench_tiles gcc starpu.h -std=c17 ${starpu_includes} ${STARPU_LDFLAGS})

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
target_sources(bench_networks PRIVATE $<TARGET_OBJECTS:hocket_models>)
target_include_directories(bench_networks PRIVATE "${PROJECT_SOURCE_DIR}/examples")
