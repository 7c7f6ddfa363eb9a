-- The last @most ticks of schedule @name, the latest first, with their tasks as far as they are there.
-- gives: scheduled_at_us bigint, outcome text, reason text?, origin text, decided_at_us bigint, late_ms bigint?, task_id bigint?
-- gives: skipped_until_us bigint?, task_status text?
select (extract(epoch from t.scheduled_at) * 1000000)::bigint as scheduled_at_us, t.outcome::text as outcome, t.reason, t.origin,
       (extract(epoch from t.decided_at) * 1000000)::bigint as decided_at_us, t.late_ms, t.task_id,
       (extract(epoch from t.skipped_until) * 1000000)::bigint as skipped_until_us,
       (select task.status::text from dogged.tasks task where task.id = t.task_id limit 1) as task_status
  from dogged.schedule_overview s
  join dogged.schedule_ticks t on t.schedule_id = s.id
 where s.name = @name::text
 order by t.scheduled_at desc
 limit @most::int
