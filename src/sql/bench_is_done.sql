-- Whether everything has ended that is not deferred. By the index of ready tasks, so that to ask takes no longer beside many
-- that are; "exists" would not keep the order.
select (select id
          from dogged.tasks_live
         where not deferred
         order by hashtext(queue), priority * 140737488355328 + coalesce(ready_position, id)
         limit 1) is null as is_done
