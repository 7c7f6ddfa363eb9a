-- Grants the roles of this schema, if it has any, their rights on new objects.
-- gives: nothing
select dogged.grant_rights()
