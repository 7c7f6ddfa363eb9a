-- Counts all dead letters by task and error code: the @most largest counts, and the sum of the others as `other`.
-- gives: name text, error_code text?, letters bigint
with counted as (
  select f.name, f.error_code, count(*) as letters from dogged.tasks_failed f group by 1, 2
), placed as (
  select c.*, row_number() over (order by c.letters desc, c.name, c.error_code) <= @most::bigint as is_named from counted c
)
select case when p.is_named then p.name else 'other' end as name, case when p.is_named then p.error_code else 'other' end as error_code,
       sum(p.letters)::bigint as letters
  from placed p
 group by 1, 2
