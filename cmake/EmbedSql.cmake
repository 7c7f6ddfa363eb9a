# Compiles SQL files into targets. A changed file is compiled in again by the next build, and nothing else is.
#
# dogged_embed_statements(target DIRECTORY…): each DIRECTORY/some_name.sql becomes the struct dogged::sql::SomeName,
# which <build>/generated/sql/<last part of DIRECTORY>.hpp declares. The SQL file declares values and columns:
#
#   @name::type                        a value: a member of the struct, sent as $1, $2, … At least one mention has the type.
#   -- gives: name type, name type?    the columns of its rows, in their order: SomeName::Row. `nothing`: it has no rows.
#
# A type is one of PostgreSQL's. `type?` may be null. `type[]` is an array, `type?[]` an array with nulls, `type[]?` an
# array that may be null.
# dogged_embed_migrations(target): migrations/ and schema/ become lists with the SHA-256 of their text, which
# src/migrate/embedded.hpp declares.
set(DOGGED_EMBED_SQL_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedSqlScript.cmake)
set(DOGGED_GENERATED ${PROJECT_BINARY_DIR}/generated)

# A build compares the stamp. A header whose text stays the same keeps its time, and the files that include it are not
# compiled again.
function(dogged_embed target kind name directories)
  set(outputs ${DOGGED_GENERATED}/sql/${name}.cpp)
  if(kind STREQUAL statements)
    list(APPEND outputs ${DOGGED_GENERATED}/sql/${name}.hpp)
  endif()
  set(files "")
  foreach(directory IN LISTS directories)
    file(GLOB found CONFIGURE_DEPENDS ${directory}/*.sql)
    list(APPEND files ${found})
  endforeach()
  set(stamp ${DOGGED_GENERATED}/sql/${name}.stamp)
  add_custom_command(
    OUTPUT ${stamp} BYPRODUCTS ${outputs}
    # FILES has a file that goes away change the command, so that it runs again.
    COMMAND ${CMAKE_COMMAND} -DKIND=${kind} -DNAME=${name} -DOUTPUT_DIRECTORY=${DOGGED_GENERATED}/sql
            "-DDIRECTORIES=${directories}" "-DFILES=${files}" -P ${DOGGED_EMBED_SQL_SCRIPT}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${files} ${DOGGED_EMBED_SQL_SCRIPT}
    COMMENT "Embedding SQL: ${name}" VERBATIM)
  target_sources(${target} PRIVATE ${stamp} ${outputs})
  # Alone, so that a changed SQL text compiles one file. Each takes 0.5 s, and 0.8 s with a precompiled header.
  set_source_files_properties(${outputs} PROPERTIES GENERATED TRUE SKIP_UNITY_BUILD_INCLUSION TRUE
    SKIP_PRECOMPILE_HEADERS TRUE)
  target_include_directories(${target} PRIVATE ${DOGGED_GENERATED})
endfunction()

function(dogged_embed_statements target)
  foreach(directory IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH directory BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    cmake_path(GET directory FILENAME name)
    dogged_embed(${target} statements ${name} ${directory})
  endforeach()
endfunction()

function(dogged_embed_migrations target)
  dogged_embed(${target} migrations embedded_migrations "${PROJECT_SOURCE_DIR}/migrations;${PROJECT_SOURCE_DIR}/schema")
endfunction()
