-- Resumes schedule @name. @from_now: the schedule starts at now, also if the next time was set while the clock was ahead.
-- gives: changed boolean
select dogged.resume_schedule(@name::text, @from_now::boolean) as changed
