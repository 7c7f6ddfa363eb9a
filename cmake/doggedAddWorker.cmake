# dogged_add_worker(name SOURCES file… [LIBRARIES target…])
#
# An executable `name` that runs the tasks which its sources declare with TASK_REGISTER. The sources become an OBJECT
# library `name_tasks`, which tests of the handlers can link as well. An OBJECT library is linked whole. From a static
# library a linker drops registrations that nothing refers to.
function(dogged_add_worker name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "dogged_add_worker(${name} …): \"${arg_UNPARSED_ARGUMENTS}\" is not understood; "
                        "write dogged_add_worker(${name} SOURCES file… [LIBRARIES target…])")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "dogged_add_worker(${name} …) needs SOURCES with at least one file")
  endif()
  add_library(${name}_tasks OBJECT ${arg_SOURCES})
  target_link_libraries(${name}_tasks PUBLIC dogged::worker ${arg_LIBRARIES})
  add_executable(${name})
  target_link_libraries(${name} PRIVATE ${name}_tasks)
endfunction()
