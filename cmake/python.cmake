# The Python package: build/<preset>/python/hocket/, to be found with PYTHONPATH; and its tests. The extension module holds the
# library and is of Python's stable ABI: one file serves CPython 3.11 and later.
#
# HOCKET_PYTHON: AUTO (where the headers of a Python are found), ON or OFF. HOCKET_PYTHON_EXECUTABLE says which Python.
set(HOCKET_PYTHON AUTO CACHE STRING "Build the Python package: ON, OFF, or AUTO: where Python's headers are found")
set_property(CACHE HOCKET_PYTHON PROPERTY STRINGS AUTO ON OFF)
# Python itself is without sanitizers: their runtime goes before it, where there is one to be loaded (clang's).
if(HOCKET_SANITIZE STREQUAL "address" AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  execute_process(COMMAND "${CMAKE_C_COMPILER}" "-print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so"
                  OUTPUT_VARIABLE python_sanitizer OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT HOCKET_PYTHON OR (HOCKET_SANITIZE AND NOT EXISTS "${python_sanitizer}"))
  return()
endif()

# The system's own, whose packages (NumPy, pytest) are Debian's, unless another one is named.
if(NOT Python_EXECUTABLE AND NOT SKBUILD AND EXISTS /usr/bin/python3)
  set(Python_EXECUTABLE /usr/bin/python3)
endif()
if(HOCKET_PYTHON STREQUAL "AUTO")
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
  if(NOT Python_Development.Module_FOUND)
    message(STATUS "No headers of Python 3.11 or later: the Python package is not built")
    return()
  endif()
else()
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
endif()

file(GLOB python_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.c")
Python_add_library(hocket_python MODULE ${python_sources})
target_link_libraries(hocket_python PRIVATE hocket_flags hocket::hocket Threads::Threads ${HOCKET_MATH_LIBRARY})
set_property(SOURCE ${python_sources} APPEND PROPERTY COMPILE_OPTIONS -Wno-pedantic) # slots of types hold functions as void *
set(package_folder "${PROJECT_BINARY_DIR}/python/hocket")
set_target_properties(hocket_python PROPERTIES
  OUTPUT_NAME _core
  PREFIX ""
  SUFFIX ".abi3.so"
  INSTALL_RPATH "$ORIGIN" # the library and its plug-ins lie beside it
  LIBRARY_OUTPUT_DIRECTORY "${package_folder}")

# A free-threaded Python has no stable ABI: its module has that Python's own suffix.
if(Python_SOABI MATCHES "^cpython-[0-9]+t")
  set_target_properties(hocket_python PROPERTIES SUFFIX ".${Python_SOABI}.so")
endif()

# What is Python stands beside the module as links, so that an edit needs no build; and so does what the book calls by other names.
foreach(source python/hocket python/book/hocket)
  set(source "${PROJECT_SOURCE_DIR}/${source}")
  file(GLOB_RECURSE package_files CONFIGURE_DEPENDS RELATIVE "${source}" "${source}/*.py" "${source}/*.pyi" "${source}/py.typed")
  foreach(file IN LISTS package_files)
    cmake_path(GET file PARENT_PATH folder)
    file(MAKE_DIRECTORY "${package_folder}/${folder}")
    file(CREATE_LINK "${source}/${file}" "${package_folder}/${file}" SYMBOLIC)
  endforeach()
endforeach()

# Plug-ins are looked for beside the module. They are installed with it, so who builds it alone, as pip does, builds them.
foreach(name IN LISTS HOCKET_MPI_NAMES)
  add_dependencies(hocket_python hocket_mpi_${name})
  add_custom_command(TARGET hocket_mpi_${name} POST_BUILD
    COMMAND "${CMAKE_COMMAND}" -E create_symlink "$<TARGET_FILE:hocket_mpi_${name}>"
            "${package_folder}/$<TARGET_FILE_NAME:hocket_mpi_${name}>" VERBATIM)
  install(TARGETS hocket_mpi_${name} LIBRARY DESTINATION hocket COMPONENT python EXCLUDE_FROM_ALL)
endforeach()
if(TARGET hocket_onnx)
  add_dependencies(hocket_python hocket_onnx)
  install(TARGETS hocket_onnx LIBRARY DESTINATION hocket COMPONENT python EXCLUDE_FROM_ALL)
endif()
if(TARGET hocket_text)
  add_dependencies(hocket_python hocket_text)
  install(TARGETS hocket_text LIBRARY DESTINATION hocket COMPONENT python EXCLUDE_FROM_ALL)
endif()

# pip install: see pyproject.toml
install(TARGETS hocket_python LIBRARY DESTINATION hocket COMPONENT python EXCLUDE_FROM_ALL)
if(SKBUILD) # wheels have no links: one file, by the name that the loader looks for
  set_target_properties(hocket PROPERTIES VERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
endif()
install(TARGETS hocket LIBRARY DESTINATION hocket COMPONENT python EXCLUDE_FROM_ALL NAMELINK_SKIP)

# ---- Tests, one for each file, by the system's pytest
if(HOCKET_TESTS)
  file(GLOB python_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/tests/test_*.py" "${PROJECT_SOURCE_DIR}/python/book/tests/test_*.py")
  if(HOCKET_SANITIZE) # of the extension; not of documents, and of programs that take minutes then
    list(FILTER python_tests EXCLUDE REGEX "/test_(array_api_strict|array_api_table|book|documents|examples|guides|models|notebooks|site|stubs|torch_book|torch_cross_check|tutorial|world)\\.py$")
  endif()
  foreach(source IN LISTS python_tests)
    cmake_path(GET source STEM name)
    string(REGEX REPLACE "^test_" "" name "${name}")
    set(python "${Python_EXECUTABLE}")
    if(name MATCHES "^(array_api_strict|book|models|stubs)$" AND EXISTS "${HOCKET_PYPI}")
      set(python "${HOCKET_PYPI}")
    endif()
    hocket_test(python.${name} python "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/python/tests/run"
                "${python}" "${PROJECT_BINARY_DIR}/python" "${source}")
    if(HOCKET_SANITIZE)
      set_property(TEST python.${name} APPEND PROPERTY ENVIRONMENT "HOCKET_PYTHON_SANITIZER=${python_sanitizer}"
                                                                   "HOCKET_CROSS_CHECK_CASES=500")
    endif()
  endforeach()
  if(NOT HOCKET_SANITIZE)
    hocket_test(corners.sample python "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/tests/corners/run" "${PROJECT_BINARY_DIR}")
  endif()
  if(HOCKET_ALL_TESTS AND NOT HOCKET_SANITIZE)
    hocket_test(python.other_versions python "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/python/tests/other_versions"
                "${PROJECT_BINARY_DIR}/python" "${PROJECT_BINARY_DIR}/pythons" "${Python_EXECUTABLE}")
    hocket_test(python.free_threaded python "${HOCKET_BASH}" "${PROJECT_SOURCE_DIR}/python/tests/free_threaded"
                "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/free_threaded" "${CMAKE_C_COMPILER}")
    set_property(TEST python.other_versions python.free_threaded PROPERTY TIMEOUT 600)
    set_property(TEST python.other_versions PROPERTY COST 60)
  endif()
endif()
