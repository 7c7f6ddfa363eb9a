-- Lists dead letters, the latest first, at most $11: of name $1, queue $2, error code $3, with a message like $4,
-- failed from $5 and before $6, among the ids $7, with all tags of $8 (null: all). The page begins after the one that
-- failed at $9 with id $10.
select l.id, l.name, l.queue, l.priority, l.error_code, l.error_message, l.attempt, l.retry_count, l.losses, l.trace_context,
       to_json(coalesce(l.tags, '{}'))::text as tags,
       l.args::text as args,
       (extract(epoch from l.enqueued_at) * 1000000)::bigint as enqueued_at_us,
       (extract(epoch from l.finished_at) * 1000000)::bigint as failed_at_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from (select f.id, f.finished_at
          from dogged.tasks_failed f
         where dogged.dead_letter_matches(f.id, f.name, f.queue, f.error_code, f.error_message, f.finished_at, f.tags,
                                  $1::text, $2::text, $3::text, $4::text, $5::timestamptz, $6::timestamptz,
                                  $7::bigint[], $8::text[])
           and ($9::timestamptz is null
                or (f.finished_at, f.id) < ($9::timestamptz, $10::bigint))
         order by f.finished_at desc, f.id desc
         limit $11::bigint) page
 cross join lateral (select r.* from dogged.redacted_tasks r
                      where r.id = page.id and r.status = 'failed' and r.finished_at = page.finished_at offset 0) l
 order by l.finished_at desc, l.id desc
