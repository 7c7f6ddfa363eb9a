-- Lists at most @most tasks that sleep or wait for an event, in the order in which their waits end. A null parameter does
-- not filter: the queues @queues, and the event @event.
-- gives: task_id bigint, name text, queue text, waits_for text, step text, attempt int
-- gives: since_us bigint, until_us bigint, now_us bigint
select w.task_id, w.name, w.queue, w.waits_for, w.step, w.attempt,
       (extract(epoch from w.since) * 1000000)::bigint as since_us,
       (extract(epoch from w.until) * 1000000)::bigint as until_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from dogged.waiting w
 where (@queues::text[]? is null or w.queue = any (@queues))
   and (@event::text? is null or w.waits_for = 'event' and w.step = @event)
 order by w.until, w.task_id
 limit @most::bigint
