-- Records in dogged.audit that a user changed circuit $2 by hand ($1: open_circuit, close_circuit). $3 is its previous
-- state.
select dogged.record_audit($1::text, null, jsonb_build_object('circuit', $2::text, 'was', $3::text))
