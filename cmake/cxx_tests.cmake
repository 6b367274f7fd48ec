# C++ programs, tests/cxx/*.cc and examples/cxx/*.cc, by g++ in C++17 and by clang++, where that is installed, in C++20, whichever
# compiles the library; examples in C++20. make check-all: each compiler in both. They link what others link, and use no language of this project.

find_program(HOCKET_GXX g++)
find_program(HOCKET_CLANGXX clang++)
mark_as_advanced(HOCKET_GXX HOCKET_CLANGXX)
set(cxx_compilers "${HOCKET_GXX}" "${HOCKET_CLANGXX}")
if(HOCKET_SANITIZE) # whose runtime is that of the library's compiler
  set(cxx_compilers "${HOCKET_GXX}")
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    set(cxx_compilers "${HOCKET_CLANGXX}")
  endif()
endif()
list(FILTER cxx_compilers EXCLUDE REGEX "NOTFOUND$")

set(cxx_options -O1 -g1 -pthread -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" ${sanitizers} ${cxx_sanitizers})
if(HOCKET_WERROR)
  list(APPEND cxx_options -Werror)
endif()

# hocket_cxx_program(TARGET SOURCE FOLDER COMPILER STANDARD)
function(hocket_cxx_program target source folder compiler standard)
  set(program "${PROJECT_BINARY_DIR}/${folder}/${target}")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
  add_custom_command(OUTPUT "${program}"
    COMMAND "${compiler}" -std=c++${standard} ${cxx_options} "-I${PROJECT_SOURCE_DIR}/include"
            "-I${PROJECT_SOURCE_DIR}/tests" -MD
            -MF "${program}.d" -MT "${program}" -o "${program}" "${source}" $<TARGET_FILE:hocket>
            "-Wl,-rpath,$<TARGET_FILE_DIR:hocket>"
    DEPENDS "${source}" hocket DEPFILE "${program}.d"
    COMMENT "Building C++ program ${folder}/${target}" VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${program}")
endfunction()

file(GLOB cxx_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cxx/*.cc")
if(HOCKET_SANITIZE) # which have an operator new of their own
  list(FILTER cxx_tests EXCLUDE REGEX "/allocations\\.cc$")
endif()
file(GLOB cxx_examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/cxx/*.cc")
foreach(compiler IN LISTS cxx_compilers)
  cmake_path(GET compiler FILENAME compiler_name)
  string(REPLACE "++" "xx" compiler_name "${compiler_name}")
  foreach(source IN LISTS cxx_tests cxx_examples)
    cmake_path(GET source STEM stem)
    set(kind cxx)
    set(standards 17 20)
    if(HOCKET_SANITIZE OR NOT HOCKET_ALL_TESTS AND compiler STREQUAL HOCKET_CLANGXX) # C++20 has all that C++17 has
      set(standards 20)
    elseif(NOT HOCKET_ALL_TESTS)
      set(standards 17)
    endif()
    set(arguments "")
    if(source IN_LIST cxx_examples AND NOT HOCKET_SANITIZE AND NOT HOCKET_ALL_TESTS AND compiler STREQUAL HOCKET_CLANGXX)
      continue()
    endif()
    if(source IN_LIST cxx_examples)
      set(kind example_cxx)
      set(standards 20)
      if(HOCKET_SANITIZE) # where twenty steps take minutes
        set(arguments 1)
      endif()
    endif()
    foreach(standard IN LISTS standards)
      set(target ${kind}_${stem}_${compiler_name}_${standard})
      hocket_cxx_program(${target} "${source}" cxx "${compiler}" ${standard})
      string(REPLACE "_cxx" ".cxx" name "${kind}.${stem}.${compiler_name}.${standard}")
      if(kind STREQUAL "cxx")
        set(name "program.${name}")
      endif()
      hocket_test(${name} program "${PROJECT_BINARY_DIR}/cxx/${target}" ${arguments})
    endforeach()
  endforeach()
endforeach()
