-- Sets the actor of this transaction for dogged.audit. If $1 is empty, the audit names the database's user.
select set_config('dogged.actor', $1::text, true)
