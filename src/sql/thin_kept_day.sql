-- Leaves of what retention has left of day $2 of the table $1 what is to be kept still.
select partition, outcome, rows_kept from dogged.thin_kept_day($1, $2::date)
