-- The workers whose lease was ended and whose tasks have not all been rescued.
-- gives: id bigint, name text
select id, name from dogged.workers where lease_ended_at is not null and rescued_at is null order by id
