-- The same for one task. It notes the idempotency key itself.
select id as first, id as last
  from (select dogged.enqueue(
                 $1::text, $2::jsonb, $3::text,
                 coalesce(timestamptz 'epoch' + $4::bigint * interval '1 microsecond',
                          now() + $5::bigint * interval '1 millisecond'),
                 $6::int, $7::text,
                 coalesce(timestamptz 'epoch' + $8::bigint * interval '1 microsecond',
                          now() + $9::bigint * interval '1 millisecond'),
                 $10::text[], $11::uuid, $12::bigint) as id
         offset 0) as enqueued
