-- Forgets clients that have called nothing for two days: no call is repeated for longer than one.
delete from dogged.producer_calls
 where producer = any (array(select producer from dogged.producer_calls
                              where called_at < now() - interval '2 days' limit 10000 for update skip locked))
