-- Settings that Postline depends on and to which the server, the database or the role gives another value, and whether
-- a session may set them. $1: their names; $2: the values that Postline needs.
select p.name, p.reset_val as value, w.value as wanted, p.context = 'user' as is_settable
  from unnest($1::text[], $2::text[]) as w (name, value)
  join pg_settings p on lower(p.name) = lower(w.name)
 where p.reset_val <> w.value order by p.name
