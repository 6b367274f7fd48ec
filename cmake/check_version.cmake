# include/hocket/version.h is written by hand; it must say what project() says.
set(version_header "${PROJECT_SOURCE_DIR}/include/hocket/version.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${version_header}")
file(READ "${version_header}" version_text)
foreach(part MAJOR MINOR PATCH)
  if(NOT version_text MATCHES "#define HK_VERSION_${part} +([0-9]+)")
    message(FATAL_ERROR "${version_header} does not define HK_VERSION_${part}")
  endif()
  if(NOT CMAKE_MATCH_1 EQUAL PROJECT_VERSION_${part})
    message(FATAL_ERROR "${version_header} says HK_VERSION_${part} ${CMAKE_MATCH_1}, but project() in "
                        "CMakeLists.txt says version ${PROJECT_VERSION}")
  endif()
endforeach()
if(version_text MATCHES "#define HK_VERSION_STRING +\"([^\"]*)\""
   AND NOT CMAKE_MATCH_1 STREQUAL PROJECT_VERSION)
  message(FATAL_ERROR "${version_header} says HK_VERSION_STRING \"${CMAKE_MATCH_1}\", but project() in "
                      "CMakeLists.txt says version ${PROJECT_VERSION}")
endif()
