# Compiles a file that must be refused, and keeps the compiler's messages.
#
#   cmake -DCOMPILER=g++ -DFLAGS="-std=c++20;-Isrc/include" -DSOURCE=file.cpp -DMESSAGES=file.txt -P compile.cmake
execute_process(COMMAND ${COMPILER} ${FLAGS} "${SOURCE}" RESULT_VARIABLE result ERROR_FILE "${MESSAGES}")
if(NOT result EQUAL 1)
  file(READ "${MESSAGES}" messages)
  message(FATAL_ERROR "must be refused, but the compiler ended with ${result}:\n${messages}")
endif()
