-- Producer $1 has a row, so that it can be locked. Waits for a first call that is still under way.
insert into dogged.producer_calls (producer, call, task_ids) values ($1::uuid, 0, '{}') on conflict do nothing
