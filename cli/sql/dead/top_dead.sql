-- Groups the dead letters of a filter (@name to @tags as in list_dead.sql) by error code and kind of message. Lists the
-- most frequent groups first, at most @most. The inner query also groups by name, because PostgreSQL does that in
-- parallel.
-- gives: error_code text?, message text?, count bigint, names text, first_us bigint, last_us bigint, sample_id bigint
-- gives: now_us bigint
select g.error_code, g.message, sum(g.count)::bigint as count, to_json(array_agg(g.name order by g.name))::text as names,
       (extract(epoch from min(g.first)) * 1000000)::bigint as first_us,
       (extract(epoch from max(g.last)) * 1000000)::bigint as last_us, max(g.sample_id) as sample_id,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
  from (select f.error_code, dogged.error_fingerprint(f.error_message) as message, f.name, count(*) as count,
               min(f.finished_at) as first, max(f.finished_at) as last, max(f.id) as sample_id
          from dogged.tasks_failed f
         where dogged.dead_letter_matches(f.id, f.name, f.queue, f.error_code, f.error_message, f.finished_at, f.tags,
                                  @name::text?, @queue::text?, @error_code::text?, @message::text?,
                                  @failed_after::timestamptz?, @failed_before::timestamptz?, @ids::bigint[]?, @tags::text[]?)
         group by 1, 2, 3) g
 group by g.error_code, g.message
 order by sum(g.count) desc, max(g.last) desc
 limit @most::bigint
