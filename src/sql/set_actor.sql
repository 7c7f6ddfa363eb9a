-- Who acts in this session, for dogged.audit.
select set_config('dogged.actor', $1::text, false)
