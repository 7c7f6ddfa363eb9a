-- How long ended tasks and attempts are kept. Retention drops partitions of whole days: schema/retention.sql.

alter table dogged.settings
  add column keep_done_days     integer not null default 7,
  add column keep_failed_days   integer not null default 90,
  add column keep_attempts_days integer not null default 7,
  add constraint keep_done_days check (keep_done_days between 1 and 3650),
  add constraint keep_failed_days check (keep_failed_days between 1 and 3650),
  add constraint keep_attempts_days check (keep_attempts_days between keep_done_days and 3650);
comment on column dogged.settings.keep_done_days is
  'For how many days succeeded, discarded, cancelled and expired tasks are kept, counted from the end of the day (UTC) on which '
  'they ended.';
comment on column dogged.settings.keep_failed_days is
  'The same for dead letters. The attempts of a dead letter are kept as long as the dead letter.';
comment on column dogged.settings.keep_attempts_days is
  'The same for attempts, counted from their own end. Attempts whose task still exists then are kept as long as the task. Not '
  'below keep_done_days.';

-- A queue's own setting can only be longer than the general one. Retention drops whole days, and first copies the rows
-- that must stay.
alter table dogged.queues
  add column keep_done_days   integer check (keep_done_days between 1 and 3650),
  add column keep_failed_days integer check (keep_failed_days between 1 and 3650);
comment on column dogged.queues.keep_done_days is
  'For how many days succeeded, discarded, cancelled and expired tasks of the queue are kept with their attempts, if longer than '
  'settings.keep_done_days. Null: as for all queues.';
comment on column dogged.queues.keep_failed_days is 'The same for the queue''s dead letters and settings.keep_failed_days.';

-- Tasks whose first attempt may be stored in an earlier day than the day on which they ended, judged without reading
-- the attempts. Retention looks for these tasks when it drops a day of attempts. Such tasks are few, even on a day with
-- millions of tasks. schema/retention.sql repeats the condition. A task that succeeded at once has no entry here.
create index tasks_done_crossed_days on dogged.tasks_done (enqueued_at, finished_at)
  where attempt > 0 and (attempt > 1 or status <> 'succeeded')
    and (finished_at at time zone 'UTC')::date > (enqueued_at at time zone 'UTC')::date;

create function dogged.refuse_bad_retention() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  setting text;
  days text;
begin
  for setting, days in select key, value from jsonb_each_text(to_jsonb(new))
                        where key in ('keep_done_days', 'keep_failed_days', 'keep_attempts_days', 'keep_ticks_days',
                                      'keep_events_days') loop
    if days is null or days::integer not between 1 and 3650 then
      raise exception '% of dogged.settings is %: it must be 1 to 3650 days', setting, coalesce(days, 'null')
        using errcode = 'invalid_parameter_value', hint = 'Give a number of days. Nothing was changed.';
    end if;
  end loop;
  if new.keep_attempts_days < new.keep_done_days then
    raise exception 'keep_attempts_days of dogged.settings (%) is below keep_done_days (%): tasks would outlive their attempts',
                    new.keep_attempts_days, new.keep_done_days
      using errcode = 'invalid_parameter_value',
            hint = 'Set both in one UPDATE, keep_attempts_days not below keep_done_days. Nothing was changed.';
  end if;
  return new;
end $$;
comment on function dogged.refuse_bad_retention() is
  'Raises an error that says what is wrong with keep_…_days. The constraints of the table would only name themselves.';
create trigger refuse_bad_retention before insert or update on dogged.settings
  for each row execute function dogged.refuse_bad_retention();
