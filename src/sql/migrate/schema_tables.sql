-- Whether the tables that record migrations exist.
-- gives: present boolean
select to_regclass('dogged.schema_migrations') is not null as present
