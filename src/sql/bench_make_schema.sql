-- The schema of a benchmark. The comment says that it may be dropped.
do $$
begin
  execute format('create schema %I', rtrim('dogged.', '.'));
  execute format('comment on schema %I is ''made by dogged bench''', rtrim('dogged.', '.'));
end $$
