-- Removes rows that are now too old from the rows that retention has kept of day @day of the table @table.
-- gives: partition text?, outcome text, rows_kept bigint?
select partition, outcome, rows_kept from dogged.thin_kept_day(@table::text, @day::date)
