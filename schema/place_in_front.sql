-- Released tasks come before all others of their priority (dogged.place). Each gets a new number, so that positions are
-- given out in rising order there as well (worker/claim/core/watermarks.hpp).
create or replace function dogged.place_in_front() returns bigint
language sql volatile return nextval('dogged.tasks_id_seq') - 70368744177664;
comment on function dogged.place_in_front() is 'Internal: a new ready_position before those of all tasks that were not released.';
