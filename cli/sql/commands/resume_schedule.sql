-- Resumes schedule @name.
-- gives: changed boolean
select dogged.resume_schedule(@name::text) as changed
