# cmake -DPYTHON=... -P: what cmake/package_includes.cmake finds among made-up packages, in the current folder.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/package_includes.cmake")

file(MAKE_DIRECTORY packages/nvidia/cudnn/include packages/nvidia/nccl/include packages/nvidia/nccl/lib)
set(ENV{PYTHONPATH} "${CMAKE_CURRENT_BINARY_DIR}/packages")
hocket_package_includes(found "${PYTHON}")
foreach(name cudnn nccl)
  if(NOT "${CMAKE_CURRENT_BINARY_DIR}/packages/nvidia/${name}/include" IN_LIST found)
    message(FATAL_ERROR "${name} is not among ${found}")
  endif()
endforeach()

hocket_package_includes(found "${CMAKE_CURRENT_BINARY_DIR}/nowhere")
if(NOT found STREQUAL "")
  message(FATAL_ERROR "a Python that is not there has ${found}")
endif()
