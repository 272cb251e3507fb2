-- A sample of the pictures whose bytes must be in the store, and their total.
select m.id, m.purpose, m.mime_type, m.bytes, count(*) over () as total
  from public.media m
 where m.used_at is not null and m.removed_at is null
   and not exists (select from app.media_removals r where r.id = m.id)
 order by random() limit 50
