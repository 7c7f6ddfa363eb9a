-- The dead letters that match a filter ($1 to $8 as in list_dead.sql), and the attempt in which each failed.
select f.id, f.attempt
  from dogged.tasks_failed f
 where dogged.dead_letter_matches(f.id, f.name, f.queue, f.error_code, f.error_message, f.finished_at, f.tags,
                                  $1::text, $2::text, $3::text, $4::text, $5::timestamptz, $6::timestamptz,
                                  $7::bigint[], $8::text[])
 order by f.id
