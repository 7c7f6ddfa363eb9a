-- Producer $1 has a row, so that it can be locked. Waits for a first call that is still under way.
select dogged.reserve_producer($1::uuid)
