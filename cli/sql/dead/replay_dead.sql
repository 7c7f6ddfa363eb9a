-- Replays the dead letters @ids that failed in the attempts @attempts. The tasks are due from the time @due_at_us
-- (microseconds since 1970; null: in @delay_ms milliseconds), @per_second a second (null: all at once). @args: their
-- new args (null: unchanged). @steps: keep or again. @merge: another task may hold the unique key of a dead
-- letter; then the dead letter is discarded.
-- gives: id bigint, result text, due_at_us bigint?
select r.id, r.result, (extract(epoch from r.due_at) * 1000000)::bigint as due_at_us
  from dogged.replay_many(@ids::bigint[],
                          coalesce(timestamptz 'epoch' + @due_at_us::bigint? * interval '1 microsecond',
                                   now() + @delay_ms::bigint * interval '1 millisecond'),
                          @per_second::float8?, @args::jsonb[]?, @attempts::int[], @steps::text, @merge::boolean) r
