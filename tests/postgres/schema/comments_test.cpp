// The comments of the schema are its reference (docs/sql.md): nothing may be without one.
#include "support/catch.hpp"
#include "support/test_database.hpp"

using namespace dogged;
using test::TestDatabase;

namespace {

/// The objects that people meet in psql and that have no comment, by kind and name. The partitions of days are made as
/// needed.
std::string uncommented(TestDatabase& database) {
  return database.value(R"(
    select coalesce(string_agg(what, ', ' order by what), 'nothing') as value from (
      select 'relation ' || c.relname as what
        from pg_class c
       where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
         and c.relname !~ '_[0-9]{8}$' and obj_description(c.oid, 'pg_class') is null
      union all
      select 'column ' || c.relname || '.' || a.attname
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relname !~ '_[0-9]{8}$'
         and col_description(c.oid, a.attnum) is null
      union all
      select 'function ' || p.proname
        from pg_proc p
       where p.pronamespace = $1::regnamespace and obj_description(p.oid, 'pg_proc') is null
      union all
      select 'type ' || t.typname
        from pg_type t
       where t.typnamespace = $1::regnamespace and t.typtype in ('e', 'd', 'r')
         and obj_description(t.oid, 'pg_type') is null) as missing)",
                        db::Params{}.add(database.schema()));
}

}  // namespace

TEST_CASE("every table, view, column, function and type says what it is for") {
  TestDatabase database;
  CHECK(uncommented(database) == "nothing");
}

TEST_CASE("whatever has no comment is found") {
  TestDatabase database;
  database.script(
      "create table dogged.t (c integer); create view dogged.v as select 1 as one; create type dogged.e as enum ('x'); "
      "create function dogged.f() returns integer language sql return 1;");
  CHECK(uncommented(database) == "column t.c, column v.one, function f, relation t, relation v, type e");
}
