# Tests on CUDA devices. Each program runs on the machine's GPUs, with the label gpu, and is skipped where there are none
# (`make test-gpu` fails then); and on emulated ones, with the label program. <build>/gpu-tests.txt has those of GPUs for
# scripts/gpu-bundle, a line for each: its name, settings, the program, the program's arguments.

set(cuda_run "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/tests/cuda/run" $<TARGET_FILE:hocket_cli>)

file(GLOB cuda_program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cuda/*.c")
list(FILTER cuda_program_sources EXCLUDE REGEX "_test\\.c$") # tests/cuda/emulation.cmake
foreach(source IN LISTS cuda_program_sources)
  cmake_path(GET source STEM name)
  hocket_test_executable(program_${name} "${source}" tests)
  hocket_use_internal(program_${name})
  target_include_directories(program_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
endforeach()
# Those of the trainer are of the command's own sources.
foreach(name training parallel)
  target_sources(program_cuda_${name} PRIVATE $<TARGET_OBJECTS:hocket_models>
    "${PROJECT_SOURCE_DIR}/cli/trainer.c" "${PROJECT_SOURCE_DIR}/cli/lenet_model.c" "${PROJECT_SOURCE_DIR}/cli/interrupt.c")
  target_include_directories(program_cuda_${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/examples")
endforeach()

# hocket_cuda_test(PROGRAM VARIANT SETTING... [ARGUMENTS ARGUMENT...] [EMULATED ARGUMENT...]): the settings are environment
# variables; EMULATED are arguments where GPUs are emulated, to make less of it
function(hocket_cuda_test program variant)
  cmake_parse_arguments(PARSE_ARGV 2 its "" "" "ARGUMENTS;EMULATED")
  set(test gpu.${program}${variant})
  list(JOIN its_UNPARSED_ARGUMENTS " " settings)
  list(JOIN its_ARGUMENTS " " arguments)
  string(STRIP "${test} ${settings} ${program} ${arguments}" line)
  set_property(GLOBAL APPEND_STRING PROPERTY HOCKET_GPU_TESTS "${line}\n")
  set_property(GLOBAL APPEND PROPERTY HOCKET_GPU_PROGRAMS program_${program})
  if(TARGET hocket_cuda)
    hocket_test(${test} gpu ${cuda_run} $<TARGET_FILE:program_${program}> ${its_ARGUMENTS})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
      "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda>" ${its_UNPARSED_ARGUMENTS})
  endif()
  if(TARGET hocket_cuda_emulated)
    set(test program.${program}.cuda_emulated${variant})
    hocket_test(${test} program ${cuda_run} $<TARGET_FILE:program_${program}>
                ${its_ARGUMENTS} ${its_EMULATED})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
      "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda_emulated>" "HOCKET_NEED_GPU=1"
      "HOCKET_EMULATED_CUDA=gpus=2" ${its_UNPARSED_ARGUMENTS})
  endif()
endfunction()

set(training 4 9) # steps, samples
if(HOCKET_SANITIZE)
  set(seeds EMULATED 2) # of six, each of which takes up to ten seconds
  set(training 2 5)
endif()
if(HOCKET_SANITIZE STREQUAL "thread")
  set(some EMULATED 1/4) # as on simulated accelerators
endif()
hocket_cuda_test(conformance "" HOCKET_CUDA=0 ${some})
if(TARGET hocket_cuda_emulated)
  set_property(TEST program.conformance.cuda_emulated PROPERTY COST 80)
endif()
hocket_cuda_test(random_captures "" HOCKET_CUDA=0)
hocket_cuda_test(failures "" HOCKET_CUDA=0)
hocket_cuda_test(bad_batch "" HOCKET_CUDA=all)
hocket_cuda_test(random_programs "" HOCKET_CUDA=0 ${seeds})
hocket_cuda_test(random_programs .parts HOCKET_CUDA=0/2 ${seeds})
hocket_cuda_test(same_training "" HOCKET_CUDA=0 EMULATED ${training})
if(NOT HOCKET_SANITIZE)
  hocket_cuda_test(second_gradients "" HOCKET_CUDA=0 ARGUMENTS -d cuda:0)
  # What kernels compute was seen above: here is another device or order for each operator of some.
  hocket_cuda_test(conformance .parts HOCKET_CUDA=0/2 EMULATED 1/4)
  hocket_cuda_test(conformance .serial HOCKET_CUDA=0 HOCKET_ENGINE=serial EMULATED 2/4)
  hocket_cuda_test(random_captures .serial HOCKET_CUDA=0 HOCKET_ENGINE=serial)
endif()
foreach(source IN LISTS cuda_program_sources)
  cmake_path(GET source STEM name)
  # Large arrays, where conformance has small ones; what only the emulation can do.
  if(NOT name MATCHES "^cuda_(lost_sum|full_pool)$" AND (NOT HOCKET_SANITIZE OR NOT name STREQUAL "cuda_kernels"))
    hocket_cuda_test(${name} "" HOCKET_CUDA=all)
  endif()
endforeach()
hocket_cuda_test(cuda_parallel .8 HOCKET_CUDA=all HOCKET_EMULATED_CUDA=gpus=8)
hocket_cuda_test(cuda_segments .16 HOCKET_CUDA=all HOCKET_EMULATED_CUDA=gpus=16)
hocket_cuda_test(cuda_all_reduce .16 HOCKET_CUDA=all HOCKET_NCCL=0 HOCKET_EMULATED_CUDA=gpus=16)
hocket_cuda_test(cuda_all_reduce .nccl16 HOCKET_CUDA=all HOCKET_EMULATED_CUDA=gpus=16)
hocket_cuda_test(cuda_all_reduce .parts HOCKET_CUDA=all/2 HOCKET_NCCL=0)
hocket_cuda_test(cuda_all_reduce .own HOCKET_CUDA=all HOCKET_NCCL=0)
hocket_cuda_test(cuda_device .exit HOCKET_CUDA=all ARGUMENTS exit)

get_property(gpu_tests GLOBAL PROPERTY HOCKET_GPU_TESTS)
get_property(gpu_programs GLOBAL PROPERTY HOCKET_GPU_PROGRAMS)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/gpu-tests.txt" CONTENT "${gpu_tests}")
# All that scripts/gpu-bundle takes along.
add_custom_target(gpu_bundle)
list(REMOVE_DUPLICATES gpu_programs)
foreach(target ${gpu_programs} hocket_cli hocket_cuda bench_gpu bench_networks)
  if(TARGET ${target})
    add_dependencies(gpu_bundle ${target})
  endif()
endforeach()

# Where NVIDIA's libraries are not there: only of the emulation's can a test say so.
if(TARGET hocket_cuda_emulated AND NOT HOCKET_SANITIZE)
  set(operators_of_conformance matmul linear conv2d conv2d_backward_data conv2d_backward_weight) # that libraries would do
  foreach(program conformance cuda_layers)
    hocket_test(program.${program}.cuda_emulated.no_libraries program ${cuda_run} $<TARGET_FILE:program_${program}>
                ${operators_of_${program}})
    set_property(TEST program.${program}.cuda_emulated.no_libraries APPEND PROPERTY ENVIRONMENT
      "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda_emulated>" "HOCKET_NEED_GPU=1" "HOCKET_CUDA=0"
      "HOCKET_EMULATED_CUDA=gpus=1" "HOCKET_EMULATED_CUDA_WITHOUT=all")
  endforeach()
  # Where they refuse whatever is launched, by a status that says that this went wrong.
  hocket_test(program.cuda_layers.cuda_emulated.refused program ${cuda_run} $<TARGET_FILE:program_cuda_layers>)
  set_property(TEST program.cuda_layers.cuda_emulated.refused APPEND PROPERTY ENVIRONMENT
    "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda_emulated>" "HOCKET_NEED_GPU=1" "HOCKET_CUDA=0" "HOCKET_EMULATED_CUDA=gpus=1"
    "HOCKET_EMULATED_CUDA_REFUSES=13,cublasLtMatmul,cudnnConvolutionForward,cudnnConvolutionBackwardData,cudnnConvolutionBackwardFilter,cudnnConvolutionBiasActivationForward")
endif()

# A result of theirs that is wrong is reported with the algorithm that they chose.
if(TARGET hocket_cuda_emulated AND NOT HOCKET_SANITIZE)
  foreach(operator_and_method "matmul=cuBLASLt, algorithm 17" "conv2d=cuDNN, .*GEMM [0-9]")
    string(REGEX MATCH "^[^=]*" operator "${operator_and_method}")
    string(REPLACE "${operator}=" "" method "${operator_and_method}")
    hocket_test(program.conformance.cuda_emulated.wrong_${operator} program ${cuda_run}
                $<TARGET_FILE:program_conformance> ${operator})
    set_property(TEST program.conformance.cuda_emulated.wrong_${operator} APPEND PROPERTY ENVIRONMENT
      "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda_emulated>" "HOCKET_NEED_GPU=1" "HOCKET_CUDA=0"
      "HOCKET_EMULATED_CUDA=gpus=1" "HOCKET_EMULATED_CUDA_WRONG=cuBLASLt,cuDNN")
    set_property(TEST program.conformance.cuda_emulated.wrong_${operator} PROPERTY
      PASS_REGULAR_EXPRESSION "cuda:0: result 0 .0. is [^(]*.tolerance [0-9e-]+ ${method}")
  endforeach()
endif()

# Sums over several, of which one is lost, or whose library does not start.
if(TARGET hocket_cuda_emulated)
  function(hocket_emulated_sums name program)
    hocket_test(program.${program}.cuda_emulated.${name} program ${cuda_run} $<TARGET_FILE:program_${program}>)
    set_property(TEST program.${program}.cuda_emulated.${name} APPEND PROPERTY ENVIRONMENT
      "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda_emulated>" "HOCKET_NEED_GPU=1" "HOCKET_CUDA=all" ${ARGN})
  endfunction()
  foreach(gpus_and_kernel 3,9 3,40 4,57 8,100)
    string(REPLACE "," ",lose_at=" setting "${gpus_and_kernel}")
    string(REPLACE "," "." name "${gpus_and_kernel}")
    hocket_emulated_sums(${name} cuda_lost_sum "HOCKET_EMULATED_CUDA=gpus=${setting}")
  endforeach()
  hocket_emulated_sums(cached cuda_full_pool HOCKET_EMULATED_CUDA=gpus=2,memory=16M)
  set_property(TEST program.cuda_full_pool.cuda_emulated.cached PROPERTY FAIL_REGULAR_EXPRESSION "NCCL is not used")
  hocket_test(program.cuda_full_pool.cuda_emulated.kept program ${cuda_run} $<TARGET_FILE:program_cuda_full_pool> kept)
  set_property(TEST program.cuda_full_pool.cuda_emulated.kept APPEND PROPERTY ENVIRONMENT
    "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda_emulated>" "HOCKET_NEED_GPU=1" "HOCKET_CUDA=all"
    HOCKET_EMULATED_CUDA=gpus=2,memory=16M)
  set_property(TEST program.cuda_full_pool.cuda_emulated.kept PROPERTY PASS_REGULAR_EXPRESSION "NCCL is not used")
  hocket_emulated_sums(own cuda_lost_sum HOCKET_EMULATED_CUDA=gpus=3,lose_at=40 HOCKET_NCCL=0)
  hocket_emulated_sums(refused cuda_all_reduce HOCKET_EMULATED_CUDA=gpus=3 HOCKET_EMULATED_CUDA_REFUSES=2,ncclCommInitAll)
endif()

# A dry run of all that is taken to a machine with a GPU.
if(TARGET hocket_cuda_emulated AND TARGET hocket_cli AND TARGET bench_gpu AND NOT HOCKET_SANITIZE)
  hocket_test(unit.gpu_bundle unit "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/tests/scripts/gpu_bundle" "${PROJECT_BINARY_DIR}")
  set_property(TEST unit.gpu_bundle PROPERTY TIMEOUT 300)
  set_property(TEST unit.gpu_bundle PROPERTY COST 100) # longer than any other: begins first
endif()

if(HOCKET_PACKAGES_PYTHON)
  hocket_test(unit.package_includes unit "${CMAKE_COMMAND}" "-DPYTHON=${HOCKET_PACKAGES_PYTHON}"
              -P "${PROJECT_SOURCE_DIR}/tests/scripts/package_includes.cmake")
endif()

# What the compiler made of the kernels: no GPU needed, but the toolkit's disassembler, which takes its time.
if(TARGET hocket_cuda AND HOCKET_ALL_TESTS)
  hocket_test(unit.check_cuda_code unit "${PROJECT_SOURCE_DIR}/scripts/check-cuda-code"
              $<TARGET_FILE:hocket_cuda>)
  set_property(TEST unit.check_cuda_code PROPERTY TIMEOUT 600)
  set_property(TEST unit.check_cuda_code PROPERTY COST 60)
endif()

# NVIDIA's libraries as they are, where they are: each has the functions that the plug-in takes from it.
if(HOCKET_ALL_TESTS AND HOCKET_CUDA_INCLUDE AND NOT cuda_missing AND NOT HOCKET_CUDA STREQUAL "OFF")
  hocket_test_executable(cuda_real_libraries_test "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_libraries_test.c" tests)
  set_target_properties(cuda_real_libraries_test PROPERTIES OUTPUT_NAME cuda_real_libraries_test)
  target_sources(cuda_real_libraries_test PRIVATE "${PROJECT_SOURCE_DIR}/src/device/cuda/cuda_libraries.c")
  target_include_directories(cuda_real_libraries_test PRIVATE src include tests)
  target_include_directories(cuda_real_libraries_test SYSTEM PRIVATE ${cuda_include})
  target_link_libraries(cuda_real_libraries_test PRIVATE hocket_flags Threads::Threads ${CMAKE_DL_LIBS})
  hocket_test(unit.cuda_real_libraries unit cuda_real_libraries_test)
  # As pip installs them, below a Python on the path.
  set(python "${PROJECT_BINARY_DIR}/tests/python")
  file(MAKE_DIRECTORY "${python}/bin")
  add_library(hocket_packaged MODULE "${PROJECT_SOURCE_DIR}/tests/cuda/packaged/library.c")
  set_target_properties(hocket_packaged PROPERTIES SUFFIX ".so.1"
    LIBRARY_OUTPUT_DIRECTORY "${python}/lib/python3.12/site-packages/nvidia/cu13/lib")
  add_dependencies(cuda_real_libraries_test hocket_packaged)
  hocket_test(unit.cuda_real_libraries.pip unit cuda_real_libraries_test libhocket_packaged.so.1)
  set_property(TEST unit.cuda_real_libraries.pip APPEND PROPERTY ENVIRONMENT "PATH=${python}/bin:$ENV{PATH}")
endif()
