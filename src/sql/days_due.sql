-- The days that retention would drop now, and how large they are.
select parent, partition, bytes
  from dogged.partitions
 where not is_kept and kept_until <= clock_timestamp()
 order by parent, day
