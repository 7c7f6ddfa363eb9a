# Compiles one file that must be refused, and holds the compiler's message against the regular expression in the
# file's first line ("// expect: ..."). "// expect: accepted" is a file that must compile.
#
#   cmake -DCOMPILER=g++ -DFLAGS="-std=c++20;-Isrc/include" -DSOURCE=file.cpp -P check.cmake
file(STRINGS "${SOURCE}" first_line LIMIT_COUNT 1)
if(NOT first_line MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${SOURCE}: the first line must be \"// expect: REGEX\"")
endif()
set(expected "${CMAKE_MATCH_1}")

execute_process(COMMAND ${COMPILER} ${FLAGS} -fsyntax-only "${SOURCE}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)

if(expected STREQUAL "accepted")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "must compile, but:\n${output}")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "compiled, but must be refused with: ${expected}")
elseif(NOT output MATCHES "${expected}")
  message(FATAL_ERROR "was refused without the message: ${expected}\n${output}")
endif()
