-- Changes the settings of queue $1 that are in the JSON object $2.
select dogged.set_queue($1, $2::jsonb) as changed
