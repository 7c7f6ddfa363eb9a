-- Whether all tasks that are not deferred have ended. The query uses the index of ready tasks, so that many deferred
-- tasks do not slow it down. "exists" would not keep the order.
-- gives: is_done boolean
select (select id
          from dogged.tasks_live
         where not deferred
         order by hashtext(queue), dogged.place(priority, ready_position, id)
         limit 1) is null as is_done
