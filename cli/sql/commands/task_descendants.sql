-- The descendants of task $1, level by level, at most $4: the first $2 children of each task, down to level $3. The row
-- without a name is task $1 itself. `children`: the number of children of each task, including those that are not
-- listed. As in task_ancestors.sql, the walk cannot loop.
with recursive below as (
  select $1::bigint as id, null::bigint as parent_id, null::text as name, null::text as status, 0 as level
   union all
  select c.id, b.id, c.name, c.status, b.level + 1
    from below b
   cross join lateral (select t.id, t.name, t.status::text as status from dogged.redacted_tasks t
                        where t.parent_id = b.id and t.id > b.id order by t.id limit $2::bigint) c
   where b.level < $3::int
)
select b.id, b.parent_id, b.name, b.status,
       (select count(*) from dogged.redacted_tasks t where t.parent_id = b.id and t.id > b.id) as children
  from (select * from below limit $4::bigint + 1) b
