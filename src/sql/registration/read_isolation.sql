-- The isolation level of this connection's transactions. The fences of claims and leases require READ COMMITTED.
-- gives: isolation text
select current_setting('transaction_isolation') as isolation
