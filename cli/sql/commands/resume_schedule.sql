-- Resumes schedule @name; with @from_now also one whose next time a clock that was ahead has set.
-- gives: changed boolean
select dogged.resume_schedule(@name::text, @from_now::boolean) as changed
