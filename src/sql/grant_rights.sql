-- The roles of this schema, if it has any, get their rights on what is new in it.
select dogged.grant_rights()
