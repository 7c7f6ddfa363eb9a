-- The reason why each of the tasks $1 is not among the dead letters of a filter.
select s.id, s.result from dogged.dead_letter_standing($1::bigint[], null) s order by s.id
