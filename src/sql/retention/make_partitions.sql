-- Creates the partitions of the coming days in advance.
select dogged.make_partitions() as made
