# hocket_package_includes(VARIABLE PYTHON): the folders of headers that NVIDIA's packages of this Python bring, as a list.
function(hocket_package_includes variable python)
  execute_process(COMMAND "${python}" -c [[
import glob, sys
for path in filter(None, sys.path):
    for folder in glob.glob(path + "/nvidia/*/include"):
        print(folder)
]] OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status ERROR_VARIABLE problem)
  if(NOT status EQUAL 0)
    message(STATUS "${python} does not say where its packages are: ${status} ${problem}")
    set(folders "")
  endif()
  string(REPLACE "\n" ";" folders "${folders}")
  set(${variable} "${folders}" PARENT_SCOPE)
endfunction()
