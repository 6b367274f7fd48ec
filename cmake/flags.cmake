# How every target of this project is compiled.

add_library(hocket_flags INTERFACE)
target_compile_features(hocket_flags INTERFACE c_std_17)
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)

target_compile_definitions(hocket_flags INTERFACE _GNU_SOURCE)
# No compiler decides where a * b + c is rounded once: the same bytes on every instruction set. Code that wants it says fma, or is listed
# in CMakeLists.txt, where to be forgotten costs time, and no bytes.
set(c_options
  -fPIC -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -ffp-contract=off -fno-math-errno -fno-trapping-math
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # A loop that is asked to be vectorised and cannot be is slower, not wrong.
  list(APPEND c_options -Wno-pass-failed)
endif()
if(HOCKET_WERROR)
  list(APPEND c_options -Werror)
endif()
# Other languages are those of the plug-in for GPUs, which says how they are compiled: cmake/cuda.cmake.
target_compile_options(hocket_flags INTERFACE "$<$<COMPILE_LANGUAGE:C>:${c_options}>")

# What was measured on this machine decides nothing in tests.
set(HOCKET_TEST_ENVIRONMENT "HOCKET_TUNE=off")
if(HOCKET_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined,leak -fno-sanitize-recover=all)
  # Checks of C++ alone have a runtime that programs in C are linked without, which open the plug-in.
  set(cxx_sanitizers -fno-sanitize=vptr,function)
  # Tests of failed allocations ask for more than there is.
  list(APPEND HOCKET_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1"
    "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
elseif(HOCKET_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
  # A child of a fork may start a runtime of its own, with threads. What threads still do at an exit is looked at for a
  # tenth of a second, and not for a whole one: some tests have many processes.
  set(HOCKET_TSAN_OPTIONS "die_after_fork=0:second_deadlock_stack=1:allocator_may_return_null=1:atexit_sleep_ms=100")
  list(APPEND HOCKET_TEST_ENVIRONMENT "TSAN_OPTIONS=${HOCKET_TSAN_OPTIONS}")
elseif(HOCKET_SANITIZE)
  message(FATAL_ERROR "HOCKET_SANITIZE is \"${HOCKET_SANITIZE}\"; it may be address, thread or empty")
endif()
if(HOCKET_SANITIZE)
  # Loops for AVX-512 are compiled without sanitizers.
  list(APPEND HOCKET_TEST_ENVIRONMENT "HOCKET_ISA=avx2")
  target_compile_options(hocket_flags INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:${sanitizers}>"
                                                "$<$<COMPILE_LANGUAGE:CXX>:${cxx_sanitizers}>")
  target_link_options(hocket_flags INTERFACE ${sanitizers})
endif()

# hocket_use_internal(TARGET): links the static library, with src/ to include from, and as little of BLAS as libhocket.so.
function(hocket_use_internal target)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:hocket_unused_blas>)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE hocket_flags hocket::hocket_static)
endfunction()
