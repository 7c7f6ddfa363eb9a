-- Takes the transaction's snapshot, which is then held for as long as the transaction lasts, however long nothing is asked.
select set_config('idle_in_transaction_session_timeout', '0', true), pg_current_snapshot()
