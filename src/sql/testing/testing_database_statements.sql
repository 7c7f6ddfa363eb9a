-- Writes the statements by which the test kit creates database @database as a copy of database @copied_database, and
-- drops it. CREATE DATABASE and DROP DATABASE take no parameter for the name.
-- gives: create_statement text, drop_statement text
select format('create database %I template %I', @database::text, @copied_database::text) as create_statement,
       format('drop database if exists %I with (force)', @database::text) as drop_statement
