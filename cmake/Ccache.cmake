# ccache makes a second build quick where it is installed; nothing depends on it.
find_program(DOGGED_CCACHE ccache)
if(DOGGED_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache keeps precompiled headers only if it is told that their times and macros do not matter.
  #
  # CCACHE_DEPEND: GCC's precompiled header holds a checksum of each `#pragma once` file, comments included. Without
  # depend mode ccache compares preprocessed text, so a changed comment brings back the old precompiled header. Then the
  # file is included twice ("redefinition of struct"). The namespace leaves behind the entries that ccache stored
  # without the mode.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_NAMESPACE=dogged-depend
    ${DOGGED_CCACHE})
  add_compile_options("$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>" $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()
