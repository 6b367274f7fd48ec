# What an installed hocket consists of. Everything is found relative to where it lies, so that the
# installed tree may be moved.
include(CMakePackageConfigHelpers)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hocket" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS hocket hocket_static EXPORT hocket_targets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET hocket_cuda) # beside the library, which looks for it there
  install(TARGETS hocket_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
foreach(name IN LISTS HOCKET_MPI_NAMES) # the same
  install(TARGETS hocket_mpi_${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()
if(TARGET hocket_cli)
  install(TARGETS hocket_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/forecast" DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/hocket"
          FILES_MATCHING PATTERN "*.py" PATTERN "tests" EXCLUDE PATTERN "__pycache__" EXCLUDE)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# find_package(hocket): hocket::hocket (shared) and hocket::hocket_static
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hocket")
install(EXPORT hocket_targets NAMESPACE hocket:: FILE hocket-targets.cmake DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/hocket-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/hocket-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hocket-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hocket-config.cmake"
              "${PROJECT_BINARY_DIR}/hocket-config-version.cmake" DESTINATION "${package_dir}")

# pkg-config --libs hocket; with --static also what libhocket.a needs. jansson and zlib stand there as
# libraries, not as Requires.private: their .pc files are then no business of who uses the shared library.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
file(RELATIVE_PATH pc_libdir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_includedir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
# The option brings HOCKET_TRACE, as in CMakeLists.txt.
set(pc_libs_private "${HocketBlas_LIBRARY} -ljansson -lpng16 -ljpeg -lz -lm -ldl -pthread")
configure_file("${PROJECT_SOURCE_DIR}/cmake/hocket.pc.in" "${PROJECT_BINARY_DIR}/hocket.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hocket.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
