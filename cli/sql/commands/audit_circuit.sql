-- Records in dogged.audit that a user changed a circuit by hand. @action: open_circuit or close_circuit.
-- gives: nothing
select dogged.record_audit(@action::text, null, jsonb_build_object('circuit', @name::text, 'was', @state_before::text))
