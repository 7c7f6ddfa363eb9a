-- Clears the asleep flag of worker @worker_id, which is busy and needs no notification. Enqueue then sends none. Fenced by
-- claim session @claim_session: a statement whose answer was lost may arrive when the worker has fallen asleep again, and
-- no notification would wake it then.
-- gives: nothing
update dogged.workers
   set asleep = false
 where id = @worker_id::bigint and asleep and claim_session = @claim_session::bigint
