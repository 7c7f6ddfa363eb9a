-- Takes the transaction's snapshot, and holds the snapshot as long as the transaction lasts, without an idle timeout.
-- gives: nothing
select set_config('idle_in_transaction_session_timeout', '0', true), pg_current_snapshot()
