-- Enqueues one task, with values like those of enqueue_many.sql. dogged.enqueue records the idempotency key itself. If
-- @parent is null, the parent is @current_task of @installation, whose handler enqueues.
-- gives: first bigint, last bigint
select id as first, id as last
  from (select dogged.enqueue(
                 @name::text, @args::jsonb, @queue::text?,
                 coalesce(timestamptz 'epoch' + @run_at_us::bigint? * interval '1 microsecond',
                          now() + @delay_ms::bigint? * interval '1 millisecond'),
                 @priority::int, @trace_context::text?,
                 coalesce(timestamptz 'epoch' + @expires_at_us::bigint? * interval '1 microsecond',
                          now() + @expires_in_ms::bigint? * interval '1 millisecond'),
                 @tags::text[]?,
                 coalesce(@parent::bigint?, dogged.parent_here(@current_task::bigint?, @installation::uuid?)),
                 @args_version::int?, @producer::uuid?, @call::bigint?) as id
         offset 0) as enqueued
