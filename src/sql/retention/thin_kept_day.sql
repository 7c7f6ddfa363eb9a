-- Removes rows that are now too old from the rows that retention has kept of day $2 of the table $1.
select partition, outcome, rows_kept from dogged.thin_kept_day($1, $2::date)
