-- Enqueues many tasks, some of them unique, with arrays like those of enqueue_many.sql. @unique_key: '' for none;
-- @unique_by: each the text of an array, '' for none; a task with neither is not unique. @period_ms, @latest_ms: the
-- least bigint for none. The answer has a line for each range of consecutive ids with the same outcome, in the order of
-- the tasks: "enqueued 7 9". The answer is recorded with the idempotency key.
-- gives: answer text
select made.answer
  from (select string_agg(r.outcome || ' ' || r.first || ' ' || r.last, E'\n' order by r.position) as answer
          from (select u.outcome, min(u.id) as first, max(u.id) as last, min(u.position) as position
                  from (select u.id, u.outcome, u.position,
                               u.position - row_number() over (partition by u.outcome, u.id - u.position order by u.position) as island
                  from dogged.enqueue_many_unique(
                         @name::text[], array(select given.args::jsonb from string_to_table(@args::text, E'\x1e') as given (args)),
                         array_replace(@unique_key::text[], '', null), array_replace(@unique_by::text[], '', null),
                         @unique_while::dogged.unique_while[], @on_conflict::dogged.unique_conflict[],
                         array(select t.ms * interval '1 millisecond'
                                 from unnest(array_replace(@period_ms::bigint[], '-9223372036854775808'::bigint, null))
                                        with ordinality as t (ms, position) order by t.position),
                         array(select t.ms * interval '1 millisecond'
                                 from unnest(array_replace(@latest_ms::bigint[], '-9223372036854775808'::bigint, null))
                                        with ordinality as t (ms, position) order by t.position),
                         array_replace(@queue::text[]?, '', null),
                         case when @run_at_us::bigint[]? is not null or @delay_ms::bigint[]? is not null then
                           array(select coalesce(timestamptz 'epoch' + t.run_at_us * interval '1 microsecond',
                                                 now() + t.delay_ms * interval '1 millisecond')
                                   from unnest(array_replace(@run_at_us::bigint[]?, '-9223372036854775808'::bigint, null),
                                               array_replace(@delay_ms::bigint[]?, '-9223372036854775808'::bigint, null))
                                          with ordinality as t (run_at_us, delay_ms, position)
                                  order by t.position) end,
                         @priority::int[]?, array_replace(@trace_context::text[]?, '', null),
                         case when @expires_at_us::bigint[]? is not null or @expires_in_ms::bigint[]? is not null then
                           array(select coalesce(timestamptz 'epoch' + t.expires_at_us * interval '1 microsecond',
                                                 now() + t.expires_in_ms * interval '1 millisecond')
                                   from unnest(array_replace(@expires_at_us::bigint[]?, '-9223372036854775808'::bigint, null),
                                               array_replace(@expires_in_ms::bigint[]?, '-9223372036854775808'::bigint, null))
                                          with ordinality as t (expires_at_us, expires_in_ms, position)
                                  order by t.position) end,
                         @tags::text[]?,
                         array_replace(array_replace(@parent::bigint[]?, '-9223372036854775808'::bigint, null), 0::bigint,
                                       dogged.parent_here(@current_task::bigint?, @installation::uuid?)),
                         @args_version::int[]?)
                         with ordinality as u (id, outcome, position)) u
                 group by u.outcome, u.id - u.position, u.island) r
         offset 0) as made
 cross join lateral dogged.note_call(@producer::uuid?, @call::bigint?, '{}', made.answer)
