-- Lists dead letters, the latest first, at most @most. A null parameter does not filter. Listed dead letters have the name
-- @name, the queue @queue, the error code @error_code, and a message like @message. They failed from @failed_after to
-- before @failed_before. They are among @ids, and have all tags of @tags. The page begins after the dead letter that
-- failed at @after_failed_at with id @after_id.
-- gives: id bigint, name text, queue text, priority bigint, error_code text?, error_message text?, attempt bigint
-- gives: retry_count bigint, losses bigint, trace_context text?, tags text, args jsonb, enqueued_at_us bigint
-- gives: failed_at_us bigint, now_us bigint
select l.id, l.name, l.queue, l.priority, l.error_code, l.error_message, l.attempt, l.retry_count, l.losses, l.trace_context,
       to_json(coalesce(l.tags, '{}'))::text as tags,
       l.args::text as args,
       (extract(epoch from l.enqueued_at) * 1000000)::bigint as enqueued_at_us,
       (extract(epoch from l.finished_at) * 1000000)::bigint as failed_at_us,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from (select f.id, f.finished_at
          from dogged.tasks_failed f
         where dogged.dead_letter_matches(f.id, f.name, f.queue, f.error_code, f.error_message, f.finished_at, f.tags,
                                  @name::text?, @queue::text?, @error_code::text?, @message::text?,
                                  @failed_after::timestamptz?, @failed_before::timestamptz?, @ids::bigint[]?, @tags::text[]?)
           and (@after_failed_at::timestamptz? is null
                or (f.finished_at, f.id) < (@after_failed_at::timestamptz?, @after_id::bigint?))
         order by f.finished_at desc, f.id desc
         limit @most::bigint) page
 cross join lateral (select r.* from dogged.redacted_tasks r
                      where r.id = page.id and r.status = 'failed' and r.finished_at = page.finished_at offset 0) l
 order by l.finished_at desc, l.id desc
