# What runs when, by the names of tests:
#
#   make test       what is not listed here
#   make check      with what is listed here, which has the label `check`; CI runs both
#   make check-all  with what is built with HOCKET_TESTS=ALL alone (HOCKET_ALL_TESTS in these files)
#
# `make test` is what a user needs to trust a build, in minutes; a test that takes longer than a few seconds belongs here.

set(check_tests
  "^corners\\."                       # a sample of every operator at the ends of its dtypes
  "clangxx"                           # which a machine may get for make check alone
  "^html\\."                          # a browser
  "^install\\.(guides|pkg_config|static|find_package_c$)"
  "^program\\.conformance\\..*"       # other devices and orders
  "^program\\.(random_programs|random_captures)\\.(check|many|sim)"
  "^program\\.(loss_curves|python_files\\.safetensors|same_shares|same_training|save_killed)$"
  "^python\\.(array_api_strict|array_api_table|book|cross_check|leaks|models|notebooks|robustness|sharing|stubs|torch_book|torch_cross_check|tutorial|world)$"
  "^unit\\.(check_symbols|conv2d|conv2d_kernel|scalar_math|zip_writer)$"
  "^unit\\.fuzz_"
  "^world\\.[a-z]+\\.([348]|machines|serial|arrays|checked|beside|library|sim|splits|faults|models|train|resumed)")

# Under sanitizers make check leaves out what takes long and shows them little; these have the label `all` there.
set(all_tests "")
if(HOCKET_SANITIZE STREQUAL "address")
  set(all_tests "^python\\.(devices|dialects|not_counted|robustness|sharing)$" "^unit\\.(attention_kernel|conv2d_kernel)$")
elseif(HOCKET_SANITIZE STREQUAL "thread")
  set(all_tests "^program\\.(models|random_programs\\.sim|same_training|second_gradients)" "^unit\\.(attention|backward|host|module_memory)$")
endif()

function(hocket_label tests label)
  foreach(test IN LISTS tests)
    foreach(pattern IN LISTS ARGN)
      if(test MATCHES "${pattern}")
        set_property(TEST ${test} APPEND PROPERTY LABELS ${label})
        break()
      endif()
    endforeach()
  endforeach()
endfunction()

get_property(tests DIRECTORY PROPERTY TESTS)
hocket_label("${tests}" check ${check_tests})
if(NOT HOCKET_ALL_TESTS)
  hocket_label("${tests}" all ${all_tests})
endif()
