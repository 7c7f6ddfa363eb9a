-- The ancestors of task @task_id, its parent first, at most @most. A task that retention has dropped has no name and no
-- status, and is the last row. A producer may name any parent, so tasks can form a circle. The walk ends before a task
-- that it has met.
-- gives: id bigint, name text?, status dogged.task_status?
with recursive above as (
  select t.parent_id as id, 1 as level, array[t.id, t.parent_id] as met
    from dogged.redacted_tasks t
   where t.id = @task_id::bigint
   union all
  select t.parent_id, a.level + 1, a.met || t.parent_id
    from above a
   cross join lateral (select p.parent_id from dogged.redacted_tasks p where p.id = a.id limit 1) t
   where a.level < @most::int and t.parent_id <> all (a.met)
)
select a.id, t.name, t.status
  from above a
  left join lateral (select p.name, p.status from dogged.redacted_tasks p where p.id = a.id limit 1) t on true
 where a.id is not null
 order by a.level
