-- Enqueues from the C++ client, through the public SQL function.
-- @args: the args of the tasks as JSON, in their order, separated by U+001E and each parsed by itself
-- (docs/decisions/0004).
-- @run_at_us: microseconds since 1970; @delay_ms: a delay in milliseconds by the database's clock; a task has at most
-- one of them. @expires_at_us, @expires_in_ms: the same for its expiry. @tags: each the text of an array. @parent: 0 means
-- @current_task of @installation, whose handler enqueues. @producer, @call: the idempotency key, or null.
-- An array of only defaults is null; an array of one element applies to all tasks. Within an array a default is '' or
-- the least bigint, because with array_nulls off NULL is read as a text.
-- Each row: ids from `first` to `last`, in the order of the tasks.
-- gives: first bigint, last bigint
select lower(ids) as first, upper(ids) - 1 as last
  from unnest(dogged.note_call(
         @producer::uuid?, @call::bigint?,
         dogged.enqueue_many(
           @name::text[], array(select given.args::jsonb from string_to_table(@args::text, E'\x1e') as given (args)),
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
           @args_version::int[]?))) as ids
