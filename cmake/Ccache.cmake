# ccache makes a second build quick where it is installed; nothing depends on it.
find_program(DOGGED_CCACHE ccache)
if(DOGGED_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DOGGED_CCACHE})
endif()
