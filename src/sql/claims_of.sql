-- The claims that worker $1 has on record.
select id from dogged.claims where worker_id = $1::bigint order by id
