-- Begins or continues the wait @name of attempt @attempt, whose handler began @ran_us ago. The wait is for an event of
-- that name (@for_event) or for time alone, @wait_ms at most. @own_trace: the trace context of an attempt that is the
-- sampled root of a trace. dogged.wait_durably tells what the states mean.
-- on_record: with the state other_kind, what is on record under this name: step, sleep or event.
-- gives: state text, payload text?, on_record text?, left_ms bigint?
select w.state, w.payload::text as payload, case when w.state = 'other_kind' then w.payload #>> '{}' end as on_record, w.left_ms
  from dogged.wait_durably(@task_id::bigint, @attempt::int, @worker_id::bigint, @name::text, @for_event::boolean,
                           @wait_ms::bigint, @ran_us::bigint, @own_trace::text?) w
