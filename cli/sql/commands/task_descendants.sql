-- The descendants of task @task_id, level by level, at most @most: the first @most_children children of each task, down
-- to level @most_levels. The row without a name is task @task_id itself. `children`: the number of children of each
-- task, including those that are not listed. A producer may name a parent of a higher id, so tasks can form a circle. A
-- task has one parent, so a circle leads back to task @task_id, where the walk ends.
-- gives: id bigint, parent_id bigint?, name text?, status text?, children bigint
with recursive below as (
  select @task_id::bigint as id, null::bigint as parent_id, null::text as name, null::text as status, 0 as level
   union all
  select c.id, b.id, c.name, c.status, b.level + 1
    from below b
   cross join lateral (select t.id, t.name, t.status::text as status from dogged.redacted_tasks t
                        where t.parent_id = b.id and t.id <> @task_id::bigint order by t.id limit @most_children::bigint) c
   where b.level < @most_levels::int
)
select b.id, b.parent_id, b.name, b.status,
       (select count(*) from dogged.redacted_tasks t where t.parent_id = b.id and t.id <> @task_id::bigint) as children
  from (select * from below limit @most::bigint + 1) b
