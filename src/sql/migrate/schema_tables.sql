-- Whether the tables that record migrations exist.
select to_regclass('dogged.schema_migrations') is not null as present
