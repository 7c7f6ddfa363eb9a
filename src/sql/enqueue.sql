-- The same for one task.
select unnest(dogged.note_call(
         $8::uuid, $9::bigint,
         array[dogged.enqueue(
                 $1::text, $2::jsonb, $3::text,
                 coalesce(timestamptz 'epoch' + $4::bigint * interval '1 microsecond',
                          now() + $5::bigint * interval '1 millisecond'),
                 $6::int, $7::text)])) as id
