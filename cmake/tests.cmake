# The tests, by label:
#   unit     src/**/<name>_test.c, one executable each, and the check of layers
#   program  tests/*.c, examples/*.c and examples/tasks/*.c, one executable each; tests/cxx and examples/cxx, one with each compiler and standard
#   cli      tests/cli/cases/*, golden tests of the command
#   python   tools/forecast/tests, and those of the Python package: cmake/python.cmake
#   html     tests/html/: the page of a timeline in a browser
#   install  tests/install/: what a user of an installed hocket sees
#   world    several ranks, by launchers of MPI: cmake/world_tests.cmake; some of them are `sanitized` too
#   check    make test leaves these out: cmake/tiers.cmake
#   gpu      programs on the machine's NVIDIA GPUs: cmake/cuda_tests.cmake
# A test passes by returning 0 and is skipped by returning 77. It runs in <build>/scratch/<name>, so
# that what it writes is its own.

# All but those leave GPUs alone.
list(APPEND HOCKET_TEST_ENVIRONMENT "HOCKET_CUDA=off")

set(scratch "${PROJECT_BINARY_DIR}/scratch")
find_program(HOCKET_BASH bash REQUIRED)
mark_as_advanced(HOCKET_BASH)

# hocket_test(NAME LABEL COMMAND...)
function(hocket_test name label)
  file(MAKE_DIRECTORY "${scratch}/${name}")
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY "${scratch}/${name}")
  set_tests_properties(${name} PROPERTIES
    LABELS ${label}
    TIMEOUT ${HOCKET_TEST_TIMEOUT}
    SKIP_RETURN_CODE 77
    ENVIRONMENT "${HOCKET_TEST_ENVIRONMENT}")
endfunction()

# There are hundreds of programs to link; lld takes a fifth of the time that ld takes.
find_program(HOCKET_LLD ld.lld)
mark_as_advanced(HOCKET_LLD)

# hocket_test_executable(TARGET SOURCE FOLDER)
function(hocket_test_executable target source folder)
  cmake_path(GET source STEM stem)
  add_executable(${target} "${source}")
  if(HOCKET_LLD)
    target_link_options(${target} PRIVATE -fuse-ld=lld)
  endif()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${stem}
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
endfunction()

# Tests may spawn the command, and compare with files beside their sources.
set(test_definitions "HKI_TEST_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
if(TARGET hocket_cli)
  list(APPEND test_definitions "HKI_TEST_COMMAND=\"$<TARGET_FILE:hocket_cli>\"")
endif()

# ---- unit
file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_test.c")
# Of the plug-in for GPUs, on its emulation; these two need no CUDA.
set(plugin_test "/src/(device|op)/cuda/")
if(NOT TARGET hocket_cuda_objects)
  list(FILTER unit_sources EXCLUDE REGEX "${plugin_test}cuda_.*")
  list(APPEND unit_sources "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_loader_test.c"
                           "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_geometry_test.c")
endif()
set(kernel_test "(_kernel|_math|/conv2d_image|/conv2d_block|/convert|/random_fill)_test\\.c$")
if(HOCKET_SANITIZE STREQUAL "thread") # nothing to see for it: kernels by themselves and files, in one thread
  list(FILTER unit_sources EXCLUDE REGEX "/src/io/|/op/call/copy_elements_test|${kernel_test}")
  if(NOT HOCKET_ALL_TESTS) # who waits for whom does not depend on what operators compute
    set(operator_tests ${unit_sources})
    list(FILTER operator_tests INCLUDE REGEX "/src/op/")
    list(FILTER operator_tests EXCLUDE REGEX "/src/op/(call|attention|recurrent|random)/")
    list(REMOVE_ITEM unit_sources ${operator_tests})
  endif()
endif()
foreach(source IN LISTS unit_sources)
  cmake_path(GET source STEM name)
  hocket_test_executable(${name} "${source}" tests)
  hocket_use_internal(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE ${test_definitions})
  # The compiler takes longer than the test, but for loops.
  if(NOT source MATCHES "/src/op/|/array/host_test|/collective/all_reduce_test")
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(TARGET hocket_cuda_objects AND source MATCHES "${plugin_test}" AND NOT name MATCHES "loader|geometry")
    target_link_libraries(${name} PRIVATE hocket_cuda_objects hocket_emulated_runtime)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  string(REGEX REPLACE "_test$" "" name_of_test "${name}")
  hocket_test(unit.${name_of_test} unit ${name})
endforeach()
if(NOT HOCKET_SANITIZE)
  hocket_test(unit.check_layers unit "${PROJECT_SOURCE_DIR}/scripts/check-layers")
  hocket_test(unit.check_symbols unit "${PROJECT_SOURCE_DIR}/tests/scripts/check_symbols")
  # What messages advise exists.
  hocket_test(unit.message_names unit "${PROJECT_SOURCE_DIR}/tests/scripts/message_names")
endif()

# ---- fuzz targets: without arguments they run their built-in seeds, so each is a unit test too.
file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*.c")
if(HOCKET_SANITIZE STREQUAL "thread")
  set(fuzz_sources "") # as above
endif()
if(NOT TARGET hocket_onnx)
  list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_onnx\\.c$")
endif()
if(NOT TARGET hocket_text)
  list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_tokenizer\\.c$")
endif()
# What reads ONNX files is in a plug-in: its target has it within.
function(hocket_fuzz_onnx target)
  target_sources(${target} PRIVATE ${onnx_sources} $<TARGET_OBJECTS:hocket_onnx_schema>)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/plugins/onnx")
  target_include_directories(${target} SYSTEM PRIVATE "${PROJECT_BINARY_DIR}/generated/onnx")
  target_link_libraries(${target} PRIVATE "${HOCKET_PROTOBUF_C}")
  add_dependencies(${target} hocket_onnx_schema)
endfunction()
# What reads tokenizers, likewise.
function(hocket_fuzz_tokenizer target)
  target_sources(${target} PRIVATE ${text_sources})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/plugins/text")
  target_link_libraries(${target} PRIVATE ${HOCKET_TEXT_LIBRARIES})
endfunction()
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  hocket_test_executable(${name} "${source}" tests)
  hocket_use_internal(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ZLIB::ZLIB)
  if(name STREQUAL "fuzz_onnx")
    hocket_fuzz_onnx(${name})
  elseif(name STREQUAL "fuzz_tokenizer")
    hocket_fuzz_tokenizer(${name})
  endif()
  hocket_test(unit.${name} unit ${name})
  # What the fuzzer found that is worth keeping.
  string(REGEX REPLACE "^fuzz_" "${PROJECT_SOURCE_DIR}/tests/fuzz/corpora/" corpus "${name}")
  if(EXISTS "${corpus}")
    hocket_test(unit.${name}.corpus unit ${name} "${corpus}")
  endif()
endforeach()

# The same with libFuzzer, which wants to see where the parsers go (CMakeLists.txt): scripts/fuzz builds and runs them.
if(HOCKET_SANITIZE STREQUAL "address" AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  add_custom_target(fuzzers)
  foreach(source IN LISTS fuzz_sources)
    cmake_path(GET source STEM name)
    add_executable(lib${name} EXCLUDE_FROM_ALL "${source}")
    set_target_properties(lib${name} PROPERTIES OUTPUT_NAME ${name}
                                                RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
    hocket_use_internal(lib${name})
    target_include_directories(lib${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
    target_compile_definitions(lib${name} PRIVATE HOCKET_LIBFUZZER)
    target_link_options(lib${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(lib${name} PRIVATE ZLIB::ZLIB)
    if(name STREQUAL "fuzz_onnx")
      hocket_fuzz_onnx(lib${name})
      target_compile_options(lib${name} PRIVATE -fsanitize=fuzzer-no-link)
    elseif(name STREQUAL "fuzz_tokenizer")
      hocket_fuzz_tokenizer(lib${name})
      target_compile_options(lib${name} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    add_dependencies(fuzzers lib${name})
  endforeach()
endif()

# ---- program
file(GLOB program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*.c")
list(FILTER program_sources EXCLUDE REGEX "\\.inc\\.c$")
if(HOCKET_SANITIZE STREQUAL "thread" AND NOT HOCKET_ALL_TESTS) # minutes of training
  list(FILTER program_sources EXCLUDE REGEX "/same_shares\\.c$")
endif()
foreach(source IN LISTS program_sources)
  cmake_path(GET source STEM name)
  hocket_test_executable(program_${name} "${source}" tests)
  hocket_use_internal(program_${name})
  target_include_directories(program_${name} PRIVATE "${PROJECT_SOURCE_DIR}"
                                                     "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(program_${name} PRIVATE ${test_definitions})
  if(TARGET hocket_cli)
    add_dependencies(program_${name} hocket_cli)
  endif()
  if(NOT name STREQUAL "conformance")
    hocket_test(program.${name} program program_${name})
  endif()
endforeach()
foreach(name models published)
  target_sources(program_${name} PRIVATE $<TARGET_OBJECTS:hocket_models>)
  target_include_directories(program_${name} PRIVATE "${PROJECT_SOURCE_DIR}/examples")
endforeach()
# Its hundreds of children do not each wait for what threads do at an exit: other tests look at that (cmake/flags.cmake).
if(HOCKET_SANITIZE STREQUAL "thread")
  set_property(TEST program.empty_extents PROPERTY ENVIRONMENT_MODIFICATION "TSAN_OPTIONS=string_append::atexit_sleep_ms=0")
endif()
# What the plug-in makes of ONNX files.
if(TARGET hocket_onnx)
  hocket_test_executable(program_onnx_files "${PROJECT_SOURCE_DIR}/tests/onnx/onnx_files.c" tests)
  target_include_directories(program_onnx_files SYSTEM PRIVATE "${PROJECT_BINARY_DIR}/generated/onnx")
  target_sources(program_onnx_files PRIVATE $<TARGET_OBJECTS:hocket_onnx_schema>)
  target_link_libraries(program_onnx_files PRIVATE hocket_flags hocket::hocket "${HOCKET_PROTOBUF_C}" Threads::Threads ${HOCKET_MATH_LIBRARY})
  add_dependencies(program_onnx_files hocket_onnx hocket_onnx_schema)
  hocket_test(program.onnx_files program program_onnx_files)
  hocket_test_executable(program_onnx_out "${PROJECT_SOURCE_DIR}/tests/onnx/onnx_out.c" tests)
  target_link_libraries(program_onnx_out PRIVATE hocket_flags hocket::hocket Threads::Threads)
  add_dependencies(program_onnx_out hocket_onnx)
  hocket_test(program.onnx_out program program_onnx_out)
  hocket_test_executable(program_export_networks "${PROJECT_SOURCE_DIR}/tests/onnx/export_networks.c" tests)
  target_sources(program_export_networks PRIVATE $<TARGET_OBJECTS:hocket_models>)
  target_include_directories(program_export_networks PRIVATE "${PROJECT_SOURCE_DIR}/examples")
  target_link_libraries(program_export_networks PRIVATE hocket_flags hocket::hocket Threads::Threads ${HOCKET_MATH_LIBRARY})
  add_dependencies(program_export_networks hocket_onnx)
  hocket_test(program.export_networks program program_export_networks)
  hocket_test_executable(program_export_without_memory "${PROJECT_SOURCE_DIR}/tests/onnx/export_without_memory.c" tests)
  target_include_directories(program_export_without_memory PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(program_export_without_memory PRIVATE hocket_flags hocket::hocket Threads::Threads)
  add_dependencies(program_export_without_memory hocket_onnx)
  hocket_test(program.export_without_memory program program_export_without_memory)
endif()
# What the plug-in makes of tokenizers.
if(TARGET hocket_text)
  hocket_test_executable(program_tokenizers "${PROJECT_SOURCE_DIR}/tests/text/tokenizers.c" tests)
  target_link_libraries(program_tokenizers PRIVATE hocket_flags hocket::hocket Threads::Threads ${HOCKET_MATH_LIBRARY})
  target_compile_definitions(program_tokenizers PRIVATE "TEST_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  add_dependencies(program_tokenizers hocket_text)
  hocket_test(program.tokenizers program program_tokenizers)
endif()
# A program's own kernels, operators, promises and failures: some 450 programs.
if(NOT HOCKET_SANITIZE)
  hocket_test(program.random_programs.many program program_random_programs 150)
endif()
# Nothing that is used rightly may be taken for a use after release.
if(NOT HOCKET_SANITIZE STREQUAL "thread")
  hocket_test(program.random_programs.check program program_random_programs)
  set_property(TEST program.random_programs.check APPEND PROPERTY ENVIRONMENT "HOCKET_CHECK=1")
endif()

# Conformance is a program of its own: the same results with other kernels and another order. Sanitizers make some of it less: their own
# instruction set is avx2, races do not depend on any, and a serial engine does nothing that the others' tests do not.
set(some "")
set(settings ENGINE=serial)
set(peers "")
if(HOCKET_SANITIZE AND NOT HOCKET_ALL_TESTS)
  set(settings "")
  set(some 1/4) # of the operators: who waits for whom does not depend on what they compute
  if(HOCKET_SANITIZE STREQUAL "address")
    set(some 1/2)
  endif()
elseif(HOCKET_SANITIZE)
  set(settings "")
elseif(CMAKE_C_COMPILER_ID MATCHES "Clang") # what it makes of each set's loops
  list(APPEND settings ISA=portable ISA=avx2)
endif()
if(HOCKET_ALL_TESTS)
  set(peers none 1e15)
  list(APPEND settings INLINE_NS=-1 ISA=portable ISA=avx2)
  if(HOCKET_SANITIZE)
    list(REMOVE_ITEM settings ISA=avx2)
    set(peers none)
  endif()
  list(REMOVE_DUPLICATES settings)
endif()
hocket_test(program.conformance program program_conformance ${some})
foreach(setting IN LISTS settings)
  hocket_test(program.conformance.${setting} program program_conformance ${some})
  set_property(TEST program.conformance.${setting} APPEND PROPERTY ENVIRONMENT "HOCKET_${setting}")
endforeach()
# The same on accelerators, linked and not, so fast that pacing them takes no time.
set(fast "flops=1e15,memory_bandwidth=1e15,launch=0,link=1e15,latency=0,staging=1e15")
foreach(program conformance random_programs random_captures)
  set(arguments "")
  set(its_peers none 1e15)
  if(program STREQUAL "conformance")
    set(arguments ${some})
    set(its_peers ${peers})
  endif()
  foreach(peer IN LISTS its_peers)
    set(name program.${program}.sim.peer_${peer})
    hocket_test(${name} program program_${program} ${arguments})
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "HOCKET_SIM=2:${fast},peer=${peer}")
  endforeach()
endforeach()

# Beside NumPy the program looks at another package, if some Python has it.
hocket_test(program.python_files.safetensors program program_python_files safetensors)
set(HOCKET_PYPI "${PROJECT_SOURCE_DIR}/build/pypi/bin/python") # what scripts/install-pypi made
if(EXISTS "${HOCKET_PYPI}")
  set_property(TEST program.python_files.safetensors APPEND PROPERTY ENVIRONMENT "HOCKET_TEST_PYTHON=${HOCKET_PYPI}")
endif()

# Against PyTorch, if some Python has it.
if(TARGET bench_networks AND NOT HOCKET_SANITIZE)
  hocket_test(program.loss_curves program "${PROJECT_SOURCE_DIR}/bench/loss_curves" --brief
              --program $<TARGET_FILE:bench_networks>)
endif()

file(GLOB example_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.c" "${PROJECT_SOURCE_DIR}/examples/tasks/*.c")
foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM name)
  hocket_test_executable(example_${name} "${source}" examples)
  target_link_libraries(example_${name} PRIVATE hocket_flags hocket::hocket Threads::Threads
                                                ${HOCKET_MATH_LIBRARY})
  set(arguments "")
  if(HOCKET_SANITIZE AND name MATCHES "^(lenet|modules|characters)$")
    set(arguments 2) # steps: they take a hundred times as long
  endif()
  hocket_test(example.${name} program example_${name} ${arguments})
endforeach()
target_link_libraries(example_pipeline PRIVATE ZLIB::ZLIB)
# The same on simulated devices.
hocket_test(example.stencil.sim program example_stencil)
set_property(TEST example.stencil.sim APPEND PROPERTY ENVIRONMENT "HOCKET_SIM=2:${fast}")

if(NOT HOCKET_SANITIZE STREQUAL "thread") # C++ has no thread of its own
  include(cxx_tests)
endif()
if(TARGET hocket_cli)
  include(world_tests)
endif()

# ---- cli
if(TARGET hocket_cli)
  file(GLOB cli_cases CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cli/cases/*.sh"
                                        "${PROJECT_SOURCE_DIR}/tests/cli/cases/*/run.sh")
  foreach(case IN LISTS cli_cases)
    cmake_path(RELATIVE_PATH case BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests/cli/cases")
    string(REGEX REPLACE "(/run)?\\.sh$" "" case "${case}")
    hocket_test(cli.${case} cli "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/tests/cli/run"
                $<TARGET_FILE:hocket_cli> ${case})
  endforeach()
endif()

# ---- python: the program that `hocket forecast` starts, by the system's pytest; it needs no Python package of Hocket
if(TARGET hocket_cli AND NOT HOCKET_SANITIZE)
  find_program(HOCKET_PYTHON3 python3 HINTS /usr/bin NO_DEFAULT_PATH)
  find_program(HOCKET_PYTHON3 python3)
  mark_as_advanced(HOCKET_PYTHON3)
  file(GLOB forecast_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/forecast/tests/test_*.py")
  foreach(source IN LISTS forecast_tests)
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "^test_(forecast$)?" "" name "${name}")
    string(REGEX REPLACE "_$" "" name "forecast_${name}")
    hocket_test(python.${name} python "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/python/tests/run"
                "${HOCKET_PYTHON3}" "${PROJECT_SOURCE_DIR}/tools/forecast" "${source}")
    set_property(TEST python.${name} APPEND PROPERTY ENVIRONMENT "HOCKET_COMMAND=$<TARGET_FILE:hocket_cli>")
  endforeach()
  set_property(TEST python.forecast_command PROPERTY RUN_SERIAL TRUE) # simulated time is paced
endif()

# ---- html
if(TARGET html_test)
  foreach(timeline fixture hostile large)
    hocket_test(html.${timeline} html "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/tests/html/run"
                $<TARGET_FILE:html_test> ${timeline})
  endforeach()
endif()

# ---- install (a sanitizer's runtime would have to be in the consumers too)
if(NOT HOCKET_SANITIZE AND TARGET hocket_cli)
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    find_program(HOCKET_TEST_CXX NAMES clang++ g++ c++)
  else()
    find_program(HOCKET_TEST_CXX NAMES g++ c++ clang++)
  endif()
  mark_as_advanced(HOCKET_TEST_CXX)
  set(install_test "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/tests/install/run")
  foreach(step prefix find_package_c find_package_cxx pkg_config_c pkg_config_cxx static_c open
               pages guides versions command exports)
    hocket_test(install.${step} install ${install_test} ${step})
    set_property(TEST install.${step} APPEND PROPERTY ENVIRONMENT
      "CMAKE=${CMAKE_COMMAND}" "CC=${CMAKE_C_COMPILER}" "CXX=${HOCKET_TEST_CXX}"
      "NM=${CMAKE_NM}" "PKG_CONFIG=${PKG_CONFIG_EXECUTABLE}" "GENERATOR=${CMAKE_GENERATOR}"
      "BUILD=${PROJECT_BINARY_DIR}" "WORK=${scratch}/installed"
      "LIBDIR=${CMAKE_INSTALL_LIBDIR}" "BINDIR=${CMAKE_INSTALL_BINDIR}")
    if(step STREQUAL "prefix")
      set_property(TEST install.prefix PROPERTY FIXTURES_SETUP installed)
    else()
      set_property(TEST install.${step} PROPERTY FIXTURES_REQUIRED installed)
    endif()
  endforeach()
endif()
