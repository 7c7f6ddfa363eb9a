-- Changes the settings of schedule @name that are in the JSON object @settings.
-- gives: changed boolean
select dogged.set_schedule(@name::text, @settings::jsonb) as changed
