# The plug-in that reads ONNX files, libhocket_onnx.so: a client of the library, by public headers. ONNX's own schema (libonnx-dev)
# becomes C by protobuf-c. The library itself needs neither, neither to build nor to run.
#
# Cache variables: HOCKET_ONNX, HOCKET_ONNX_PROTO

set(HOCKET_ONNX AUTO CACHE STRING "Build the plug-in that reads ONNX files: ON, OFF, or AUTO: where protobuf-c and the schema are found")
set_property(CACHE HOCKET_ONNX PROPERTY STRINGS AUTO ON OFF)
find_program(HOCKET_PROTOC_C protoc-c DOC "The compiler of protobuf-c")
find_library(HOCKET_PROTOBUF_C protobuf-c DOC "The library of protobuf-c")
find_file(HOCKET_ONNX_PROTO onnx/onnx.proto PATHS /usr/include DOC "ONNX's schema")
mark_as_advanced(HOCKET_PROTOC_C HOCKET_PROTOBUF_C HOCKET_ONNX_PROTO)
if(HOCKET_ONNX STREQUAL "OFF" OR NOT HOCKET_PROTOC_C OR NOT HOCKET_PROTOBUF_C OR NOT HOCKET_ONNX_PROTO)
  if(HOCKET_ONNX STREQUAL "ON")
    message(FATAL_ERROR "HOCKET_ONNX is ON, but protoc-c, libprotobuf-c or onnx.proto is not found")
  endif()
  message(STATUS "Plug-in for ONNX: none")
  return()
endif()
message(STATUS "Plug-in for ONNX: ${HOCKET_ONNX_PROTO}")

set(generated "${PROJECT_BINARY_DIR}/generated/onnx")
file(MAKE_DIRECTORY "${generated}")
cmake_path(GET HOCKET_ONNX_PROTO PARENT_PATH proto_folder)
add_custom_command(
  OUTPUT "${generated}/onnx.pb-c.c" "${generated}/onnx.pb-c.h"
  COMMAND "${HOCKET_PROTOC_C}" "--proto_path=${proto_folder}" "--c_out=${generated}" onnx.proto
  DEPENDS "${HOCKET_ONNX_PROTO}" VERBATIM)
file(GLOB onnx_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/plugins/onnx/*.c")
# What the schema becomes is compiled by itself: its warnings are not ours.
add_library(hocket_onnx_schema OBJECT "${generated}/onnx.pb-c.c")
set_target_properties(hocket_onnx_schema PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
add_library(hocket_onnx MODULE ${onnx_sources} "${generated}/onnx.pb-c.h" $<TARGET_OBJECTS:hocket_onnx_schema>)
target_include_directories(hocket_onnx PRIVATE "${PROJECT_SOURCE_DIR}/plugins/onnx" "${PROJECT_SOURCE_DIR}/include")
target_include_directories(hocket_onnx SYSTEM PRIVATE "${generated}")
target_link_libraries(hocket_onnx PRIVATE hocket_flags hocket "${HOCKET_PROTOBUF_C}" ${HOCKET_MATH_LIBRARY})
set_target_properties(hocket_onnx PROPERTIES C_VISIBILITY_PRESET hidden)
set_target_properties(hocket_onnx PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS hocket_onnx LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
