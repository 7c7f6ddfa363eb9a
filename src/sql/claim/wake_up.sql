-- Clears the asleep flag of worker @worker_id, which is busy and needs no notification. Enqueue then sends none. Claim
-- session @claim_session fences the statement. Without the fence, a late statement of an earlier session could clear
-- the flag of a worker that has fallen asleep again. No notification would then wake that worker.
-- gives: nothing
update dogged.workers
   set asleep = false
 where id = @worker_id::bigint and asleep and claim_session = @claim_session::bigint
