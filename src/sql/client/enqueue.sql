-- Enqueues one task, with parameters like those of enqueue_many.sql. dogged.enqueue records the idempotency key itself.
-- $11: the parent. If $11 is null, the parent is task $12 of installation $13, whose handler enqueues. $14: the version
-- of the args.
select id as first, id as last
  from (select dogged.enqueue(
                 $1::text, $2::jsonb, $3::text,
                 coalesce(timestamptz 'epoch' + $4::bigint * interval '1 microsecond',
                          now() + $5::bigint * interval '1 millisecond'),
                 $6::int, $7::text,
                 coalesce(timestamptz 'epoch' + $8::bigint * interval '1 microsecond',
                          now() + $9::bigint * interval '1 millisecond'),
                 $10::text[], coalesce($11::bigint, dogged.parent_here($12::bigint, $13::uuid)), $14::int, $15::uuid, $16::bigint) as id
         offset 0) as enqueued
