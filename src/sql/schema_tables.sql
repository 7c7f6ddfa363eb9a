-- Whether the tables that record migrations are there.
select to_regclass('dogged.schema_migrations') is not null as present
