-- Sets the actor of this transaction for dogged.audit. If @actor is empty, the audit names the database's user.
-- gives: nothing
select set_config('dogged.actor', @actor::text, true)
