-- Takes the names of those who have locked and ended from the tasks $2 that worker $1 runs: complete.sql passes over a row with
-- such a name, for it cannot tell whether he still has it locked. A new version of the row names him who wrote it, which is this.
-- What is locked stays so.
update dogged.tasks_live
   set worker_id = worker_id
 where ctid = any (array(
         select ctid
           from dogged.tasks_live
          where id = any ($2::bigint[]) and status = 'running' and worker_id = $1::bigint and xmax not in ('0', xmin)
          order by id
            for update skip locked))
