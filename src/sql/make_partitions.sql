-- Keeps the partitions of the coming days ready.
select dogged.make_partitions() as made
