-- The days that retention would drop now, with their sizes.
select parent, partition, bytes
  from dogged.partitions
 where not is_kept and kept_until <= clock_timestamp()
 order by parent, day
