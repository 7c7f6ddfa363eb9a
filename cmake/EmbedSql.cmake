# dogged_embed_sql(target): compiles the SQL files of src/sql, migrations/ and schema/ into the target.
#
# Each src/sql/NAME.sql becomes the statement dogged::sql::NAME (declared in <build>/generated/sql_statements.hpp);
# migrations and schema files become lists with the SHA-256 of their text (declared in src/migrate/embedded.hpp).
# A changed file is compiled in again by the next build.
set(DOGGED_EMBED_SQL_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedSqlScript.cmake)

function(dogged_embed_sql target)
  file(GLOB statements CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/sql/*.sql)
  file(GLOB migrations CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/migrations/*.sql)
  file(GLOB schema CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/schema/*.sql)
  list(REMOVE_ITEM schema ${PROJECT_SOURCE_DIR}/schema/structure.sql)  # the snapshot, not a source

  set(directory ${PROJECT_BINARY_DIR}/generated)
  set(outputs ${directory}/sql_statements.hpp ${directory}/sql_statements.cpp ${directory}/embedded_migrations.cpp)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT_DIRECTORY=${directory} -DSOURCE_DIRECTORY=${PROJECT_SOURCE_DIR}
            -P ${DOGGED_EMBED_SQL_SCRIPT}
    DEPENDS ${statements} ${migrations} ${schema} ${DOGGED_EMBED_SQL_SCRIPT}
    COMMENT "Embedding SQL" VERBATIM)
  target_sources(${target} PRIVATE ${outputs})
  target_include_directories(${target} PRIVATE ${directory})
endfunction()
