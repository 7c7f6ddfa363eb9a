-- Settings that users change while workers run: a queue's pause, maximum depth, concurrency and retry budget. The
-- functions that change them are in schema/queues.sql.

alter table dogged.queues
  add column paused_at              timestamptz,
  add column paused_until           timestamptz,
  add column max_depth              integer check (max_depth between 1 and 100000000),
  add column concurrency            integer check (concurrency between 1 and 1000),
  add column retry_budget           double precision check (retry_budget between 0.001 and 1),
  add column min_retries_per_second double precision not null default 10
                                    check (min_retries_per_second between 0.1 and 1000000),
  add check (paused_until is null or paused_at is not null);
comment on column dogged.queues.paused_at is
  'When the queue was paused (dogged.pause_queue); null: the queue is not paused. Workers claim nothing from a paused queue. '
  'Running tasks go on.';
comment on column dogged.queues.paused_until is
  'When the pause ends by itself. From then on the queue is not paused, whatever paused_at says. Null: the pause lasts until the '
  'queue is resumed.';
comment on column dogged.queues.max_depth is
  'How many tasks that have not ended the queue may hold. Enqueue refuses one more. Null: any number. Retries, and concurrent '
  'enqueues that are not committed, are not counted against this limit.';
comment on column dogged.queues.concurrency is
  'How many tasks of the queue each worker runs at once; null: the number that the worker was started with.';
comment on column dogged.queues.retry_budget is
  'The largest share of retries among the attempts of this queue that a worker begins within 10 s. Further retries wait. Null: any '
  'share.';
comment on column dogged.queues.min_retries_per_second is
  'The number of retries a second that each worker may begin whatever retry_budget says, so that a quiet queue can retry.';
comment on column dogged.tasks.next_retry_at is
  'The next attempt does not begin before this time. Set for a retry, or for a task that was deferred because its circuit is open '
  'or its queue''s retry budget is spent. The value stays while that attempt runs.';
-- Every enqueue_many asks whether any queue has a limit.
create index queues_limited on dogged.queues (name) where max_depth is not null;

-- A separate table, so that the row locks of enqueue do not block a transaction that pauses the queue.
create table dogged.queue_depths (
  queue   text primary key references dogged.queues on delete cascade,
  held    integer not null,
  last_id bigint not null
) with (fillfactor = 50);
comment on table dogged.queue_depths is
  'The depth of each queue with a max_depth when it was last counted. Since then the queue has grown by no more than the number of '
  'ids given out, so enqueue seldom counts.';
comment on column dogged.queue_depths.queue is 'The queue''s name.';
comment on column dogged.queue_depths.held is 'Tasks that had not ended at the last count.';
comment on column dogged.queue_depths.last_id is 'The last value of tasks_id_seq at the last count.';

-- The trigger creates the row, not the first enqueue: concurrent enqueues would wait for the first one to commit.
create function dogged.prepare_to_count() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into dogged.queue_depths (queue, held, last_id) values (new.name, new.max_depth, 0) on conflict do nothing;
  return null;
end $$;
comment on function dogged.prepare_to_count() is 'Creates the row that holds the depth of a queue with a limit.';
create trigger prepare_to_count after insert or update of max_depth on dogged.queues
  for each row when (new.max_depth is not null) execute function dogged.prepare_to_count();

create function dogged.tell_of_queues() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('dogged.queues', '');
  return null;
end $$;
comment on function dogged.tell_of_queues() is 'Notifies workers of each change of a queue''s settings, also by a plain UPDATE.';
create trigger tell_workers after update or delete on dogged.queues
  for each statement execute function dogged.tell_of_queues();
