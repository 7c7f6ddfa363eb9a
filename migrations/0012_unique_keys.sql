-- The keys of unique tasks. The functions are in schema/unique.sql; docs/decisions/0020 gives the reasons.

create type dogged.unique_while as enum ('pending', 'live', 'kept');
comment on type dogged.unique_while is
  'How long a task holds its unique key. pending: until the task begins, and again while it waits for a retry; live: until it has '
  'ended; kept: for the period that the call names, or as long as the database keeps the task.';
create type dogged.unique_conflict as enum ('keep', 'refuse', 'replace_args', 'merge_args', 'reschedule', 'debounce',
                                            'debounce_merge');
comment on type dogged.unique_conflict is
  'What an enqueue does if a task holds its unique key. keep: nothing. refuse: raises an error. replace_args, merge_args: gives a '
  'pending holder the new args, or adds them to its args. reschedule: moves the first run of the holder. debounce: reschedule and '
  'replace_args. debounce_merge: reschedule and merge_args.';

-- A table of its own, because tasks_live must have no index that a claim, a retry or a replay could meet
-- (docs/decisions/0006). A row outlives its task's end: whether the task still holds the key, the next enqueue finds out
-- from the task itself. So no completion touches the table, and no row can keep a key taken by mistake.
--
-- Without check constraints: PostgreSQL makes them ready anew for each insert. The check of a key's length took a twelfth of
-- the time of a unique enqueue in the server. dogged.refuse_key checks keys.
create table dogged.unique_keys (
  name       text collate "C" not null,
  unique_key text collate "C" not null,
  task_id    bigint not null,
  taken_at   timestamptz not null default now(),
  held_while dogged.unique_while not null,
  held_until timestamptz,
  primary key (name, unique_key)
) with (fillfactor = 70);
comment on table dogged.unique_keys is
  'The last task of each unique key (dogged.enqueue_unique). Rows whose task holds the key no longer are removed in time.';
comment on column dogged.unique_keys.name is 'The task''s name. Tasks of different names never share a key.';
comment on column dogged.unique_keys.unique_key is
  'The key, as the producer gave it, or the SHA-256 of the args that it covers.';
comment on column dogged.unique_keys.task_id is 'The last task that took the key. The task may have ended.';
comment on column dogged.unique_keys.taken_at is 'When the task took the key; a unique_period counts from then.';
comment on column dogged.unique_keys.held_while is 'How long the call that enqueued the task wanted the key to be held.';
comment on column dogged.unique_keys.held_until is 'The end of the period that this call named; null: it named none.';
