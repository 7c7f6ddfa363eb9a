-- Creates the partitions of the coming days in advance.
-- gives: made int
select dogged.make_partitions() as made
