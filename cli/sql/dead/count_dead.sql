-- Counts the dead letters of a filter (@name to @tags as in list_dead.sql) by error code, the most frequent first.
-- gives: error_code text?, count bigint, first_us bigint, last_us bigint
select f.error_code, count(*) as count,
       (extract(epoch from min(f.finished_at)) * 1000000)::bigint as first_us,
       (extract(epoch from max(f.finished_at)) * 1000000)::bigint as last_us
  from dogged.tasks_failed f
 where dogged.dead_letter_matches(f.id, f.name, f.queue, f.error_code, f.error_message, f.finished_at, f.tags,
                                  @name::text?, @queue::text?, @error_code::text?, @message::text?,
                                  @failed_after::timestamptz?, @failed_before::timestamptz?, @ids::bigint[]?, @tags::text[]?)
 group by f.error_code
 order by count(*) desc, f.error_code
