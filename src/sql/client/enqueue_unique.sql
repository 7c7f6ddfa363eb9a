-- Enqueues one unique task, with values like those of enqueue.sql. The answer is as in enqueue_many_unique.sql.
-- gives: answer text
select made.answer
  from (select u.outcome || ' ' || u.id || ' ' || u.id as answer
          from dogged.enqueue_unique(
                 @name::text, @args::jsonb, @unique_key::text?, @unique_by::text[]?, @unique_while::dogged.unique_while,
                 @on_conflict::dogged.unique_conflict, @period_ms::bigint? * interval '1 millisecond',
                 @latest_ms::bigint? * interval '1 millisecond', @queue::text?,
                 coalesce(timestamptz 'epoch' + @run_at_us::bigint? * interval '1 microsecond',
                          now() + @delay_ms::bigint? * interval '1 millisecond'),
                 @priority::int, @trace_context::text?,
                 coalesce(timestamptz 'epoch' + @expires_at_us::bigint? * interval '1 microsecond',
                          now() + @expires_in_ms::bigint? * interval '1 millisecond'),
                 @tags::text[]?,
                 coalesce(@parent::bigint?, dogged.parent_here(@current_task::bigint?, @installation::uuid?)),
                 @args_version::int?) u
         offset 0) as made
 cross join lateral dogged.note_call(@producer::uuid?, @call::bigint?, '{}', made.answer)
