# dogged_target_defaults(target): the warnings and sanitizers that all of our own code is built with.
function(dogged_target_defaults target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(DOGGED_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(DOGGED_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${DOGGED_SANITIZE} -fno-sanitize-recover=all
                           -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${DOGGED_SANITIZE})
  endif()
endfunction()
