-- Grants the roles of this schema, if it has any, their rights on new objects.
select dogged.grant_rights()
