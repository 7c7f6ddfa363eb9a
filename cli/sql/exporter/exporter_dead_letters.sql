-- Counts the first @rows dead letters of a range, by task and error code. The range has the tasks that ended after @after_us
-- and before @until_us, in the order of their ends. Tasks that ended in the same microsecond as the last one count too.
-- end_us: when the last counted task ended. Nothing if no dead letters of the range follow.
-- until_us: the range's end. If @until_us is null, the range ends now.
-- gives: name text, error_code text?, letters bigint, end_us bigint?, until_us bigint
with counted as (
  select s.name, s.error_code, count(*) as letters, max(s.finished_at) as ended_at
    from (select f.name, f.error_code, f.finished_at
            from dogged.tasks_failed f
           where f.finished_at > to_timestamp(@after_us::bigint / 1000000.0)
             and f.finished_at < coalesce(to_timestamp(@until_us::bigint? / 1000000.0), now())
           order by f.finished_at
           fetch first (@rows::bigint) rows with ties) as s
   group by 1, 2
)
select c.name, c.error_code, c.letters,
       case when sum(c.letters) over () >= @rows then (extract(epoch from max(c.ended_at) over ()) * 1000000)::bigint end as end_us,
       coalesce(@until_us, (extract(epoch from now()) * 1000000)::bigint) as until_us
  from counted c
