-- The days that retention would drop now.
-- gives: partition text
select partition
  from dogged.partitions
 where not is_kept and kept_until <= clock_timestamp()
 order by parent, day
