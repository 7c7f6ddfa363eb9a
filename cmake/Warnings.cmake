# dogged_target_defaults(target): the warnings and sanitizers that all of our own code is built with.
function(dogged_target_defaults target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                         $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
  # With -O3 GCC 12 warns of std::string's own code (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)
  if(CMAKE_UNITY_BUILD)  # what is a file's own does not look so to GCC
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  if(DOGGED_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(DOGGED_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${DOGGED_SANITIZE} -fno-sanitize-recover=all
                           -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${DOGGED_SANITIZE})
  endif()
endfunction()
