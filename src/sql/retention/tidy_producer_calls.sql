-- Removes the rows of clients that have made no call for long, at most 10,000 of them.
-- gives: forgotten int
select dogged.forget_calls() as forgotten
