-- Who acts in this transaction, for dogged.audit; empty: the database's user.
select set_config('dogged.actor', $1::text, true)
