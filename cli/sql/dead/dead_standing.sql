-- The reason why each of the tasks @ids is not among the dead letters of a filter.
-- gives: id bigint, result text
select s.id, s.result from dogged.dead_letter_standing(@ids::bigint[], null) s order by s.id
