-- Whether everything has ended, and for how long the workers that run now have been working. By the server's clock.
select not exists (select from dogged.tasks_live where not deferred) as is_done,
       extract(epoch from clock_timestamp() - (select min(started_at) from dogged.workers
                                                where stopped_at is null and lease_ended_at is null))::float8 as seconds
