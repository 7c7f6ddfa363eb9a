-- Ends the pause of the queue $1.
select dogged.resume_queue($1) as changed
