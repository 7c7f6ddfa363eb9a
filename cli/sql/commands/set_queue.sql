-- Changes the settings of queue @name that are in the JSON object @settings.
-- gives: changed boolean
select dogged.set_queue(@name::text, @settings::jsonb) as changed
