-- Ends an attempt as succeeded, in the handler's own transaction.
-- gives: nothing
select dogged.complete_in(@task_id::bigint, @attempt::int, @worker_id::bigint, @result::jsonb?, @running_us::bigint,
                          @own_trace::text?)
