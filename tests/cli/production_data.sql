-- Makes of the data in cookbook_data.sql what a database in production holds. Ids have eight digits, and names and codes are
-- as long as they are there. Task 48210203 gets a parent and two children.

set session_replication_role = replica; -- attempts are history, which nothing may change
create function pg_temp.long(short text) returns text language sql return
  coalesce((select long from (values
    ('webhook.deliver', 'billing.invoice.send_reminder'), ('mail.send', 'customer.notification.deliver'),
    ('report.build', 'accounting.report.build_monthly'),
    ('webhooks', 'billing-notifications'), ('mail', 'customer-notifications'), ('reports', 'accounting-reports'),
    ('web-1', 'dogged-worker-7f9c6d5b8-x2x41'), ('web-2', 'dogged-worker-7f9c6d5b8-q8k7d'),
    ('web-3', 'dogged-worker-7f9c6d5b8-m4v2p'), ('reports-1', 'dogged-reports-5d8f7c9b64-zt6wn'),
    ('payments', 'payment-provider-eu'), ('smtp', 'mail-relay-primary'),
    ('HTTP_410', 'TLS_HANDSHAKE_TIMEOUT'), ('HTTP_429', 'RATE_LIMIT_EXCEEDED'), ('HTTP_503', 'UPSTREAM_UNAVAILABLE'),
    ('SMTP_550', 'MAILBOX_UNAVAILABLE')) as names (short, long) where names.short = $1), short);

update dogged.tasks set id = id + 48210000, name = pg_temp.long(name), queue = pg_temp.long(queue),
       error_code = pg_temp.long(error_code),
       error_message = case when error_message is not null then
         'handshake with api.billing.example timed out after 10000 ms (attempt on 10.4.17.3:443)' end;
update dogged.tasks set parent_id = 48210101 where id = 48210203;
update dogged.tasks set parent_id = 48210203 where id in (48210204, 48210310);
update dogged.task_attempts set task_id = task_id + 48210000, name = pg_temp.long(name), queue = pg_temp.long(queue),
       error_code = pg_temp.long(error_code);
update dogged.workers set host = 'ip-10-4-17-' || id || '.eu-west-1.compute.internal', pid = 1,
       name = pg_temp.long(name), task_names = array(select pg_temp.long(task) from unnest(task_names) task),
       queues = (select jsonb_object_agg(pg_temp.long(key), value) from jsonb_each(queues));
update dogged.claims set task_ids = array(select id + 48210000 from unnest(task_ids) id);
update dogged.queues set name = pg_temp.long(name);
update dogged.queue_depths set queue = pg_temp.long(queue);
update dogged.circuits set name = pg_temp.long(name);
update dogged.task_definitions set name = pg_temp.long(name), queue = pg_temp.long(queue), circuit = 'mail-relay-primary';
update dogged.audit set task_id = task_id + 48210000;
reset session_replication_role;
