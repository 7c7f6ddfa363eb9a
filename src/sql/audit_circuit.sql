-- Notes that somebody has changed circuit $2 by hand ($1: open_circuit, close_circuit), and the state $3 that it had.
select dogged.record_audit($1::text, null, jsonb_build_object('circuit', $2::text, 'was', $3::text))
