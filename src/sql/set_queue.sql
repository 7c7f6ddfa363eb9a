-- Changes the settings of the queue $1 that the JSON object $2 names.
select dogged.set_queue($1, $2::jsonb) as changed
