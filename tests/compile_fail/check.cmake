# Holds the compiler's messages on a refused file against the comments that the file begins with:
#
#   // expect: REGEX   matches the first line with "error:". "accepted": the file must compile without a warning.
#   // given: TEXT     that line has TEXT in quotes too. (Clang 14 prints it as single characters.)
#   // shown: TEXT     TEXT stands before the second line with "error:".
#
#   cmake -DSOURCE=file.cpp -DMESSAGES=FILE -P check.cmake
set(expected "")
set(given "")
set(shown "")
file(READ "${SOURCE}" source)
while(source MATCHES "^// (expect|given|shown): ([^\n]+)\n(.*)$")
  set(source "${CMAKE_MATCH_3}")
  if(CMAKE_MATCH_1 STREQUAL "expect")
    set(expected "${CMAKE_MATCH_2}")
  else()
    set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endif()
endwhile()
if(expected STREQUAL "")
  message(FATAL_ERROR "${SOURCE}: the first line must be \"// expect: REGEX\"")
endif()

execute_process(COMMAND awk -v "file=${SOURCE}:" -f "${CMAKE_CURRENT_LIST_DIR}/messages_of.awk" "${MESSAGES}"
  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(output STREQUAL "")
  message(FATAL_ERROR "compiled, but must be refused with: ${expected}")
endif()

string(REGEX MATCH "[^\n]*error:[^\n]*" first_error "${output}")
string(FIND "${output}" "${first_error}" begin)
string(LENGTH "${first_error}" length)
math(EXPR end "${begin} + ${length}")
string(SUBSTRING "${output}" ${end} -1 rest)
string(FIND "${rest}" "error:" second)
if(second EQUAL -1)
  set(until_second "${output}")
else()
  math(EXPR end "${end} + ${second}")
  string(SUBSTRING "${output}" 0 ${end} until_second)
endif()

string(REPLACE "', '" "" joined "${first_error}")
string(FIND "${joined}" "\"${given}\"" as_text)
string(FIND "${joined}" "'${given}'" as_characters)
string(FIND "${until_second}" "${shown}" shown_at)
if(NOT first_error MATCHES "${expected}")
  message(FATAL_ERROR "the first error is not: ${expected}\n${output}")
elseif(NOT given STREQUAL "" AND as_text EQUAL -1 AND as_characters EQUAL -1)
  message(FATAL_ERROR "the first error does not show: ${given}\n${output}")
elseif(shown_at EQUAL -1)
  message(FATAL_ERROR "the first error does not come with: ${shown}\n${output}")
endif()
