-- Forgets clients that have called nothing for long, 10,000 at most.
select dogged.forget_calls() as forgotten
