-- Leaves of the kept attempts of day $1 those whose task is still there.
select partition, outcome, rows_kept from dogged.thin_kept_attempts($1::date)
