-- Creates schedule @name with the settings of the JSON object @settings.
-- gives: nothing
select dogged.create_schedule(@name::text, @settings::jsonb)
