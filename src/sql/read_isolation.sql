-- The isolation that this connection's transactions have: the fences of claims and leases are made for READ COMMITTED.
select current_setting('transaction_isolation') as isolation
