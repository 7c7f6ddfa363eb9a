-- The dead letters that match a filter (@name to @tags as in list_dead.sql), and the attempt in which each failed.
-- gives: id bigint, attempt int
select f.id, f.attempt
  from dogged.tasks_failed f
 where dogged.dead_letter_matches(f.id, f.name, f.queue, f.error_code, f.error_message, f.finished_at, f.tags,
                                  @name::text?, @queue::text?, @error_code::text?, @message::text?,
                                  @failed_after::timestamptz?, @failed_before::timestamptz?, @ids::bigint[]?, @tags::text[]?)
 order by f.id
