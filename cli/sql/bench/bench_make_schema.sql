-- Creates the schema of a benchmark. The schema's comment marks it as one that the benchmark may drop.
-- gives: nothing
do $$
begin
  execute format('create schema %I', rtrim('dogged.', '.'));
  execute format('comment on schema %I is ''made by dogged bench''', rtrim('dogged.', '.'));
end $$
