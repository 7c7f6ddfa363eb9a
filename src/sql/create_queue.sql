-- Makes queue $1; harmless if it is there.
select dogged.create_queue($1)
