-- Writes the statements by which the test kit creates database $1 as a copy of database $2, and drops it. These
-- statements take no parameter for the name of a database.
select format('create database %I template %I', $1::text, $2::text) as create_statement,
       format('drop database if exists %I with (force)', $1::text) as drop_statement
