# Several ranks, by each launcher that is installed beside its plug-in. Label: world.
#
#   world.<mpi>.<ranks>   tests/world.c
#   world.<mpi>.machines   the same, as if each rank were on a machine of its own
#   world.<mpi>.splits.<ranks>   tests/world_splits.c
#   world.<mpi>.arrays[.<setting>]   tests/world_arrays.c
#   world.<mpi>.owners.<setting>   tests/world_owners.c
#   world.<mpi>.checked   tests/world_checked.c: HOCKET_CHECK
#   world.<mpi>.beside.<who>   tests/world_ranks/beside_mpi.c: a program that calls MPI itself
#   world.<mpi>.cuda_emulated.<case>   on emulated GPUs: tests/world.c, tests/world_channels.c
#   world.<mpi>.<case>    tests/world_ranks/<case>: what a rank that stops, dies or leaves does to the others; one training

file(GLOB world_cases CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/world_ranks/*.sh")

# hocket_world_test(NAME MPI COMMAND...)
function(hocket_world_test name mpi)
  hocket_test(${name} world ${ARGN})
  # Those of a library one after the other: begun early. Two libraries at a time, since ranks wait for each other.
  set_tests_properties(${name} PROPERTIES RESOURCE_LOCK world_${mpi} COST 50)
  # What MPI keeps until the end is no leak of ours.
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "HOCKET_MPI=$<TARGET_FILE:hocket_mpi_${mpi}>" "ASAN_OPTIONS=detect_leaks=0"
    "OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" "WORLD_MPI=${mpi}")
  # Open MPI looks for networks for a fifth of a second, and then takes this; once it is left to find that.
  if(mpi STREQUAL "openmpi" AND NOT name STREQUAL "world.openmpi.2")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "OMPI_MCA_pml=ob1")
  endif()
  if(HOCKET_SANITIZE STREQUAL "thread")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
      "TSAN_OPTIONS=${HOCKET_TSAN_OPTIONS}:suppressions=${PROJECT_SOURCE_DIR}/tests/world_ranks/thread_sanitizer.txt")
  endif()
endfunction()

# What does not depend on the plug-in: accelerators, splits of networks, emulated GPUs.
function(hocket_world_device_tests mpi)
  set(launch ${ARGN})
  # Accelerators, whose data goes by way of the host.
  set(name world.${mpi}.sim)
  set(fast "flops=1e15,memory_bandwidth=1e15,launch=0,link=1e15,latency=0,staging=1e15")
  hocket_world_test(${name} ${mpi} ${launch} -n 2 $<TARGET_FILE:program_world>)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=2" "WORLD_DEVICES=sim" "HOCKET_SIM=2:${fast}")
  foreach(setting serial sim)
    hocket_world_test(world.${mpi}.arrays.${setting} ${mpi} ${launch} -n 2 $<TARGET_FILE:program_world_arrays>)
    set(environment "HOCKET_ENGINE=serial")
    if(setting STREQUAL "sim")
      set(environment "WORLD_DEVICE=sim:0" "HOCKET_SIM=1:${fast}")
    endif()
    set_property(TEST world.${mpi}.arrays.${setting} APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=2" ${environment})
  endforeach()
  # Splits of networks: the same programs.
  foreach(setting 2 3 4 serial sim)
    set(name world.${mpi}.splits.${setting})
    set(ranks 2)
    set(environment "")
    if(setting STREQUAL "serial")
      set(ranks 3)
      set(environment "HOCKET_ENGINE=serial")
    elseif(setting STREQUAL "sim")
      set(environment "WORLD_DEVICES=sim" "HOCKET_SIM=2:${fast}")
    else()
      set(ranks ${setting})
    endif()
    hocket_world_test(${name} ${mpi} ${launch} -n ${ranks} $<TARGET_FILE:program_world_splits>)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=${ranks}" ${environment})
  endforeach()
  if(TARGET hocket_cuda_emulated)
    # name ranks; settings
    function(hocket_world_cuda_test name ranks)
      hocket_world_test(world.${mpi}.cuda_emulated.${name} ${mpi} ${launch} -n ${ranks} ${its_COMMAND})
      set_property(TEST world.${mpi}.cuda_emulated.${name} APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=${ranks}"
        "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda_emulated>" ${ARGN})
    endfunction()
    # Parts of one GPU, so that a rank gives two arrays.
    set(parts "WORLD_DEVICES=cuda:0/" "HOCKET_CUDA=0/2" "HOCKET_EMULATED_CUDA=gpus=1,slow=5")
    set(its_COMMAND $<TARGET_FILE:program_world>)
    hocket_world_cuda_test(2 2 ${parts} "HOCKET_WORLD_ROUTE=direct")
    hocket_world_cuda_test(4 4 ${parts} "HOCKET_WORLD_ROUTE=direct")
    hocket_world_cuda_test(serial 2 ${parts} "HOCKET_WORLD_ROUTE=direct" "HOCKET_ENGINE=serial")
    hocket_world_cuda_test(library 2 ${parts} "HOCKET_WORLD_SUM=library")
    foreach(ranks 2 3)
      hocket_world_cuda_test(gpus.${ranks} ${ranks} "WORLD_DEVICES=cuda" "HOCKET_CUDA=all" "HOCKET_EMULATED_CUDA=gpus=2"
        "HOCKET_WORLD_ROUTE=direct")
    endforeach()
    hocket_world_cuda_test(gpus.library 2 "WORLD_DEVICES=cuda" "HOCKET_CUDA=all" "HOCKET_EMULATED_CUDA=gpus=2"
      "HOCKET_WORLD_SUM=library")
    foreach(kind direct groups host refused demands)
      set(its_COMMAND $<TARGET_FILE:program_world_channels> ${kind})
      hocket_world_cuda_test(${kind} 3 "HOCKET_CUDA=all" "HOCKET_EMULATED_CUDA=gpus=2")
    endforeach()
    # Ranks have a GPU each, without being told.
    set(its_COMMAND $<TARGET_FILE:program_cuda_parallel>)
    foreach(ranks 2 4)
      hocket_world_cuda_test(parallel.${ranks} ${ranks} "HOCKET_CUDA=" "HOCKET_EMULATED_CUDA=gpus=${ranks}" "HOCKET_WORLD_ROUTE=direct")
    endforeach()
    # NCCL's own sums of two ranks have the same bytes in any order.
    set(its_COMMAND $<TARGET_FILE:program_world_channels> direct)
    hocket_world_cuda_test(direct_library 2 "HOCKET_CUDA=all" "HOCKET_EMULATED_CUDA=gpus=2" "HOCKET_WORLD_SUM=library")
  endif()
endfunction()

set(tested_mpis ${HOCKET_MPI_NAMES})
if(NOT HOCKET_ALL_TESTS) # one of them
  foreach(mpi mpich openmpi)
    if(mpi IN_LIST HOCKET_MPI_NAMES)
      set(tested_mpis ${mpi})
      break()
    endif()
  endforeach()
endif()
foreach(mpi IN LISTS tested_mpis)
  cmake_path(GET HOCKET_MPICC_${mpi} PARENT_PATH folder)
  if(mpi STREQUAL "abi") # MPICH's own, beside its compiler
    find_program(HOCKET_MPIRUN_${mpi} mpirun.hydra mpiexec.hydra HINTS "${folder}" NO_DEFAULT_PATH DOC "The launcher of ${mpi}")
  else()
    find_program(HOCKET_MPIRUN_${mpi} mpirun.${mpi} DOC "The launcher of ${mpi}")
  endif()
  mark_as_advanced(HOCKET_MPIRUN_${mpi})
  if(NOT HOCKET_MPIRUN_${mpi})
    message(STATUS "No tests of several ranks with ${mpi}: there is no mpirun.${mpi}")
    continue()
  endif()
  set(launch "${HOCKET_MPIRUN_${mpi}}")
  if(mpi STREQUAL "openmpi")
    list(APPEND launch --oversubscribe)
  endif()
  foreach(ranks 2 3 4 8)
    if(mpi STREQUAL "abi" AND ranks GREATER 4)
      continue()
    endif()
    set(name world.${mpi}.${ranks})
    hocket_world_test(${name} ${mpi} ${launch} -n ${ranks} $<TARGET_FILE:program_world>)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=${ranks}")
  endforeach()
  # As between machines, whose messages are smaller: launchers say how many ranks are on this one.
  hocket_world_test(world.${mpi}.machines ${mpi} ${launch} -n 3 env OMPI_COMM_WORLD_LOCAL_SIZE=1 MPI_LOCALNRANKS=1
                    $<TARGET_FILE:program_world>)
  set_property(TEST world.${mpi}.machines APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=3")
  hocket_world_test(world.${mpi}.serial ${mpi} ${launch} -n 2 $<TARGET_FILE:program_world>)
  set_property(TEST world.${mpi}.serial APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=2" "HOCKET_ENGINE=serial")
  hocket_world_test(world.${mpi}.arrays ${mpi} ${launch} -n 3 $<TARGET_FILE:program_world_arrays>)
  set_property(TEST world.${mpi}.arrays APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=3")
  foreach(setting 2 4 serial)
    set(ranks ${setting})
    if(setting STREQUAL "serial")
      set(ranks 3)
    endif()
    hocket_world_test(world.${mpi}.owners.${setting} ${mpi} ${launch} -n ${ranks} $<TARGET_FILE:program_world_owners>)
    if(setting STREQUAL "serial")
      set_property(TEST world.${mpi}.owners.serial APPEND PROPERTY ENVIRONMENT "HOCKET_ENGINE=serial")
    endif()
  endforeach()
  hocket_world_test(world.${mpi}.checked ${mpi} ${launch} -n 3 $<TARGET_FILE:program_world_checked>)
  hocket_test_executable(beside_${mpi} "${PROJECT_SOURCE_DIR}/tests/world_ranks/beside_mpi.c" tests)
  hocket_use_internal(beside_${mpi})
  set_target_properties(beside_${mpi} PROPERTIES OUTPUT_NAME beside_${mpi})
  target_compile_definitions(beside_${mpi} PRIVATE ${HOCKET_MPI_DEFINES_${mpi}})
  target_include_directories(beside_${mpi} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_include_directories(beside_${mpi} SYSTEM PRIVATE ${HOCKET_MPI_INCLUDES_${mpi}})
  target_link_libraries(beside_${mpi} PRIVATE ${HOCKET_MPI_LINKS_${mpi}})
  if(mpi STREQUAL "abi")
    set_target_properties(beside_abi PROPERTIES BUILD_RPATH "${HOCKET_MPI_FOLDERS_abi}")
  endif()
  set(kinds first runtime last)
  if(mpi STREQUAL "openmpi")
    list(APPEND kinds finalize)
  endif()
  foreach(who IN LISTS kinds)
    hocket_world_test(world.${mpi}.beside.${who} ${mpi} ${launch} -n 3 $<TARGET_FILE:beside_${mpi}> ${who})
  endforeach()
  # Of two ranks sums have the same bytes in any order.
  hocket_world_test(world.${mpi}.library ${mpi} ${launch} -n 2 $<TARGET_FILE:program_world>)
  set_property(TEST world.${mpi}.library APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=2" "HOCKET_WORLD_SUM=library")
  if(mpi STREQUAL "abi")
    # A program that has loaded it keeps it, though another library's launcher is here.
    hocket_world_test(world.${mpi}.loaded ${mpi} ${launch} -n 2 env -u HOCKET_MPI "LD_PRELOAD=${HOCKET_MPILIB_abi}"
                      "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:hocket_mpi_abi>" $<TARGET_FILE:program_world>)
    set_property(TEST world.${mpi}.loaded APPEND PROPERTY ENVIRONMENT "WORLD_RANKS=2" "WORLD_HAS_LOADED=1")
    set(cases ${world_cases})
    list(FILTER cases INCLUDE REGEX "/(faults|train)\\.sh$")
  else()
    hocket_world_device_tests(${mpi} ${launch})
    set(cases ${world_cases})
  endif()
  foreach(case IN LISTS cases)
    cmake_path(GET case STEM stem)
    if(stem MATCHES "^gpu_" AND NOT TARGET hocket_cuda_emulated)
      continue()
    endif()
    hocket_world_test(world.${mpi}.${stem} ${mpi} "${HOCKET_BASH}" "${case}" ${launch}
                      $<TARGET_FILE:program_world_faults> $<TARGET_FILE:hocket_cli>)
    if(stem MATCHES "faults$") # they wait for the most part, and leave the cores to the others
      set(lock world_faults_${mpi})
      if(mpi STREQUAL "abi") # what it may leave has MPICH's name
        set(lock world_faults_mpich)
      endif()
      set_tests_properties(world.${mpi}.${stem} PROPERTIES RESOURCE_LOCK ${lock} COST 60)
    endif()
    if(stem MATCHES "^gpu_")
      set_property(TEST world.${mpi}.${stem} APPEND PROPERTY ENVIRONMENT "HOCKET_CUDA=0" "HOCKET_EMULATED_CUDA=gpus=1"
        "HOCKET_CUDA_PLUGIN=$<TARGET_FILE:hocket_cuda_emulated>")
    endif()
  endforeach()
endforeach()

# What CI runs of them under sanitizers: each program once.
foreach(test world.mpich.2 world.mpich.splits.2 world.mpich.cuda_emulated.direct)
  if(TEST ${test})
    set_property(TEST ${test} APPEND PROPERTY LABELS sanitized)
  endif()
endforeach()
