-- The indexes and constraints of our tables, schemas and domains: those that exist, and those that `migrate` has
-- recorded. `statement` creates one, `repair` makes an invalid one valid. Those of others are not recorded. $1:
-- Postline's tables; $2: the record, a JSON object of statements by name.
with schemas as (
    select n.oid, n.nspname from pg_namespace n
     where n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin')
), relations as (
    select c.oid, format('%I.%I', n.nspname, c.relname) as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm')
       and (n.nspname || '.' || c.relname = any ($1::text[] || 'auth.users'::text)
            or n.oid in (select s.oid from schemas s))
), constraints as (
    select k.*, r.name as relation, format('%I.%I', s.nspname, t.typname) as domain
      from pg_constraint k
      left join relations r on r.oid = k.conrelid
      left join (pg_type t join schemas s on s.oid = t.typnamespace) on t.oid = k.contypid
     where (r.oid is not null or t.oid is not null)
       -- From PostgreSQL 18 on NOT NULL is a constraint too. A constraint trigger is a trigger.
       and k.contype in ('p', 'u', 'x', 'c', 'f')
), there (name, place, statement, is_valid, repair) as (
    select format('constraint %I on %s', k.conname, coalesce(k.relation, k.domain)),
           case k.contype when 'p' then 0 when 'u' then 1 when 'x' then 1 when 'c' then 3 else 4 end,
           format('alter %s add constraint %I %s', w.what, k.conname, pg_get_constraintdef(k.oid)),
           k.convalidated and coalesce((select i.indisvalid from pg_index i
                                         where i.indexrelid = k.conindid and k.contype in ('p', 'u', 'x')), true),
           case when k.convalidated then format('reindex index %s', k.conindid::regclass)
                else format('alter %s validate constraint %I', w.what, k.conname) end
      from constraints k
     cross join lateral (select case when k.relation is null then 'domain ' || k.domain
                                     else 'table ' || k.relation end) as w (what)
    union all
    select format('index %I.%I', n.nspname, c.relname), 2, pg_get_indexdef(c.oid), i.indisvalid,
           format('reindex index %I.%I', n.nspname, c.relname)
      from pg_index i join relations r on r.oid = i.indrelid
      join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
     where not exists (select from pg_constraint k where k.conindid = c.oid and k.contype in ('p', 'u', 'x'))
)
select coalesce(t.name, r.name) as name,
       coalesce(t.statement, r.statement) as statement,
       t.name is not null as is_there,
       r.name is not null as is_recorded,
       -- Some constraints are recorded as never validated.
       coalesce(t.is_valid, true) or r.statement like '% NOT VALID' as is_valid,
       t.repair
  from there t full join jsonb_each_text(coalesce($2::jsonb, '{}')) as r (name, statement) on r.name = t.name
 order by coalesce(t.place, case when r.statement like '% PRIMARY KEY %' then 0
                                 when r.statement like '% UNIQUE (%' then 1
                                 when r.statement like 'CREATE %' then 2
                                 when r.statement like '% FOREIGN KEY %' then 4 else 3 end), name
