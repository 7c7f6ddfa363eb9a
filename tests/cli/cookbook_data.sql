-- The data for the answers on docs/cookbook.md: a database as it may stand on a bad morning. All times are counted from the
-- beginning of the transaction, in which the questions are asked as well. So the answers are the same each time.

insert into dogged.queues (name) values ('webhooks'), ('mail'), ('reports');
delete from dogged.queues where name = 'default';
insert into dogged.task_definitions (name, queue, retry_policy, auto_retry_for, timeout_ms, retry_lost, dead_letter, max_losses,
                                     version, redact, circuit)
values ('webhook.deliver', 'webhooks', '{"policy": "exponential", "base_ms": 30000, "max_retries": 5}', '{HTTP_429,HTTP_503}',
        10000, true, true, 3, '1', '{/secret}', null),
       ('mail.send', 'mail', '{"policy": "fixed", "interval_ms": 60000, "max_retries": 3}', '{SMTP_421}', null, true, true, 3, '1',
        '{}', 'smtp'),
       ('report.build', 'reports', '{"policy": "none"}', '{}', null, true, true, 3, '1', '{}', null);
insert into dogged.circuits (name, state, failures, since, changed_at)
values ('payments', 'closed', 0, now() - interval '3 days', now() - interval '3 days'),
       ('smtp', 'open', 5, now() - interval '20 seconds', now() - interval '20 seconds');

insert into dogged.workers (id, name, host, pid, version, queues, task_names, started_at, heartbeat_at, lease_until, lease_ended_at,
                            rescued_at, stopped_at, fenced)
overriding system value
select id, name, 'host-' || id, 4000 + id, '1.0', queues::jsonb, tasks::text[], now() - interval '1 day', now() - interval '5 s',
       now() + lease, now() - ended, now() - ended, now() - stopped, fenced
  from (values
    (1, 'web-1', '{"webhooks": 4, "mail": 2}', '{webhook.deliver,mail.send}', interval '25 s', null, null, 0),
    (2, 'web-2', '{"webhooks": 4, "mail": 2}', '{webhook.deliver,mail.send}', interval '-20 s', null, null, 0),
    (3, 'web-3', '{"webhooks": 4}', '{webhook.deliver}', interval '-12 min', interval '12 min', null, 1),
    (4, 'reports-1', '{"reports": 1}', '{report.build}', interval '-50 min', null, interval '50 min', 0))
    as w (id, name, queues, tasks, lease, ended, stopped, fenced);

-- Alive: one that is retried, one that is ready, three that run, one that nobody serves, one of tomorrow.
insert into dogged.tasks (id, status, queue, name, args, enqueued_at, run_at, deferred, next_retry_at, attempt, retry_count,
                          worker_id, claimed_at, error_code, error_message)
select id, status::dogged.task_status, queue, name, args::jsonb, now() - age, now() - age + coalesce(later, interval '0'),
       later is not null or retry is not null, now() + retry, attempt, (retry is not null)::integer, worker, now() - claimed, code,
       message
  from (values
    (102, 'pending', 'webhooks', 'webhook.deliver', '{"url": "https://a.example/hook", "secret": "k1", "order": 7}',
     interval '2 min', null, interval '4 min', 1, 1, interval '65 s', 'HTTP_429', 'Too Many Requests'),
    (103, 'pending', 'webhooks', 'webhook.deliver', '{"url": "https://b.example/hook", "secret": "k2", "order": 8}',
     interval '90 s', null, null, 0, null, null, null, null),
    (104, 'running', 'webhooks', 'webhook.deliver', '{"url": "https://c.example/hook", "secret": "k3", "order": 9}',
     interval '40 s', null, null, 1, 1, interval '30 s', null, null),
    (105, 'pending', 'reports', 'report.build', '{"month": "2026-10"}', interval '45 min', null, null, 0, null, null, null, null),
    (106, 'pending', 'mail', 'mail.send', '{"to": "ann@example.com"}', interval '1 h', interval '25 h', null, 0, null, null, null,
     null),
    (107, 'running', 'webhooks', 'webhook.deliver', '{"url": "https://d.example/hook", "secret": "k4", "order": 10}',
     interval '5 min', null, null, 1, 2, interval '4 min 50 s', null, null))
    as t (id, status, queue, name, args, age, later, retry, attempt, worker, claimed, code, message);
insert into dogged.claims (worker_id, task_ids) values (1, '{104}'), (2, '{107}');

-- Ended: one after two retries, ten mails, one that was cancelled, four dead letters.
insert into dogged.tasks (id, status, queue, name, args, enqueued_at, run_at, attempt, retry_count, worker_id, claimed_at,
                          finished_at, error_code, error_message)
select id, status::dogged.task_status, queue, name, args::jsonb, now() - age, now() - age, attempt, greatest(attempt - 1, 0), worker,
       now() - ended - interval '1 s', now() - ended, code, message
  from (values
    (101, 'succeeded', 'webhooks', 'webhook.deliver', '{"url": "https://a.example/hook", "secret": "k0", "order": 6}',
     interval '6 min', 3, 1, interval '3 min', null, null),
    (108, 'cancelled', 'reports', 'report.build', '{"month": "2026-09"}', interval '2 h', 0, null, interval '1 h', null, null),
    (201, 'failed', 'webhooks', 'webhook.deliver', '{"url": "https://gone.example/hook", "secret": "k5", "order": 3}',
     interval '26 h', 1, 1, interval '26 h', 'HTTP_410', 'Gone'),
    (202, 'failed', 'webhooks', 'webhook.deliver', '{"url": "https://gone.example/hook", "secret": "k5", "order": 4}',
     interval '2 h', 1, 1, interval '2 h', 'HTTP_410', 'Gone'),
    (203, 'failed', 'webhooks', 'webhook.deliver', '{"url": "https://gone.example/hook", "secret": "k5", "order": 5}',
     interval '20 min', 1, 1, interval '20 min', 'HTTP_410', 'Gone'),
    (204, 'failed', 'mail', 'mail.send', '{"to": "nobody@example.com"}', interval '30 min', 1, 1, interval '30 min', 'SMTP_550',
     'mailbox unavailable'))
    as t (id, status, queue, name, args, age, attempt, worker, ended, code, message)
union all
select 300 + i, 'succeeded', 'mail', 'mail.send', '{"to": "ann@example.com"}', ended - i * interval '0.1 s' - interval '2 s',
       ended - i * interval '0.1 s' - interval '2 s', 1, 0, 1, ended - i * interval '0.1 s', ended, null, null
  from (select i, now() - interval '4 min' + i * interval '10 s' as ended from generate_series(1, 10) i) as mails;

insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, finished_at, error_code,
                                  error_message, error_details, will_retry, next_retry_at, policy, backoff_ms, delay_ms)
select id, attempt, name, queue, outcome::dogged.attempt_outcome, worker, now() - ended - ran, now() - ended - ran, now() - ended,
       code, message, details::jsonb, delay_ms is not null, now() - ended + delay_ms * interval '1 ms',
       case when delay_ms is not null then 'exponential base=30s max_retries=5' end, backoff_ms, delay_ms
  from (values
    (101, 1, 'webhook.deliver', 'webhooks', 'failed', 1, interval '5 min 55 s', interval '0.8 s', 'HTTP_503', 'Service Unavailable',
     null, 30000, 28000),
    (101, 2, 'webhook.deliver', 'webhooks', 'failed', 3, interval '5 min 25 s', interval '1.2 s', 'HTTP_503', 'Service Unavailable',
     null, 60000, 71000),
    (101, 3, 'webhook.deliver', 'webhooks', 'succeeded', 1, interval '3 min', interval '0.4 s', null, null, null, null, null),
    (102, 1, 'webhook.deliver', 'webhooks', 'failed', 1, interval '1 min', interval '5 s', 'HTTP_429', 'Too Many Requests',
     '{"retry_after": 300}', 300000, 300000),
    (201, 1, 'webhook.deliver', 'webhooks', 'failed', 1, interval '26 h', interval '1 s', 'HTTP_410', 'Gone', '{"status": 410}',
     null, null),
    (202, 1, 'webhook.deliver', 'webhooks', 'failed', 1, interval '2 h', interval '1 s', 'HTTP_410', 'Gone', '{"status": 410}',
     null, null),
    (203, 1, 'webhook.deliver', 'webhooks', 'failed', 1, interval '20 min', interval '1 s', 'HTTP_410', 'Gone', '{"status": 410}',
     null, null),
    (204, 1, 'mail.send', 'mail', 'failed', 1, interval '30 min', interval '2 s', 'SMTP_550', 'mailbox unavailable', null, null,
     null),
    (205, 1, 'webhook.deliver', 'webhooks', 'lost', 3, interval '12 min', interval '40 s', 'WORKER_LOST', 'worker 3 (web-3) is dead',
     null, 0, 0))
    as a (id, attempt, name, queue, outcome, worker, ended, ran, code, message, details, backoff_ms, delay_ms)
union all
select id, 1, name, queue, 'succeeded', worker_id, claimed_at, claimed_at, finished_at, null, null, null, false, null, null, null,
       null
  from dogged.tasks where id between 301 and 310;

select set_config('dogged.actor', 'ann@desk', true);
select dogged.record_audit('cancel', 108, '{"name": "report.build", "queue": "reports", "status": "pending"}');
