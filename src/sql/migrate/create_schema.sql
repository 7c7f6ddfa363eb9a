-- Creates the schema. The name is cut out of "dogged.", so that the name of another schema is substituted here as
-- everywhere else. Another migrator may be creating the schema at the same time: this statement then waits for it and
-- finds the schema.
-- gives: nothing
do $$ begin
  execute format('create schema if not exists %I', rtrim('dogged.', '.'));
exception when unique_violation or duplicate_schema then null;
end $$
