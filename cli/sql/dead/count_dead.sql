-- Counts the dead letters of a filter ($1 to $8 as in list_dead.sql) by error code, the most frequent first.
select f.error_code, count(*) as count,
       (extract(epoch from min(f.finished_at)) * 1000000)::bigint as first_us,
       (extract(epoch from max(f.finished_at)) * 1000000)::bigint as last_us
  from dogged.tasks_failed f
 where dogged.dead_letter_matches(f.id, f.name, f.queue, f.error_code, f.error_message, f.finished_at, f.tags,
                                  $1::text, $2::text, $3::text, $4::text, $5::timestamptz, $6::timestamptz,
                                  $7::bigint[], $8::text[])
 group by f.error_code
 order by count(*) desc, f.error_code
