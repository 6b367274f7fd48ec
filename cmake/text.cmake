# The plug-in that reads tokenizers, libhocket_text.so: a client of the library, by public headers. Patterns are PCRE2's, classes and normal
# forms of letters utf8proc's. The library itself needs neither, neither to build nor to run.
#
# Cache variable: HOCKET_TEXT

set(HOCKET_TEXT AUTO CACHE STRING "Build the plug-in that reads tokenizers: ON, OFF, or AUTO: where PCRE2 and utf8proc are found")
set_property(CACHE HOCKET_TEXT PROPERTY STRINGS AUTO ON OFF)
if(NOT HOCKET_TEXT STREQUAL "OFF")
  pkg_check_modules(HOCKET_PCRE2 IMPORTED_TARGET "libpcre2-8>=10.32")
  pkg_check_modules(HOCKET_UTF8PROC IMPORTED_TARGET "libutf8proc>=2.2")
endif()
if(HOCKET_TEXT STREQUAL "OFF" OR NOT HOCKET_PCRE2_FOUND OR NOT HOCKET_UTF8PROC_FOUND)
  if(HOCKET_TEXT STREQUAL "ON")
    message(FATAL_ERROR "HOCKET_TEXT is ON, but libpcre2-8 or libutf8proc is not found")
  endif()
  message(STATUS "Plug-in for tokenizers: none")
  return()
endif()
message(STATUS "Plug-in for tokenizers: PCRE2 ${HOCKET_PCRE2_VERSION}, utf8proc ${HOCKET_UTF8PROC_VERSION}")

file(GLOB text_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/plugins/text/*.c")
set(HOCKET_TEXT_LIBRARIES PkgConfig::HOCKET_PCRE2 PkgConfig::HOCKET_UTF8PROC PkgConfig::JANSSON)
add_library(hocket_text MODULE ${text_sources})
target_include_directories(hocket_text PRIVATE "${PROJECT_SOURCE_DIR}/plugins/text" "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(hocket_text PRIVATE hocket_flags ${HOCKET_TEXT_LIBRARIES})
set_target_properties(hocket_text PROPERTIES C_VISIBILITY_PRESET hidden)
set_target_properties(hocket_text PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS hocket_text LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
