-- Removes rows that are of no use any more, at most 10,000 of each kind. These are rows of clients that have made no
-- call for long, and unique keys that no task holds.
-- gives: calls int, keys int
select dogged.forget_calls() as calls, dogged.forget_keys() as keys
