-- Objects of Postline whose owner is not that of the ledger app.migrations, with the statements that change it. $1:
-- Postline's tables.
with owner as (
    select c.relowner as oid, pg_get_userbyid(c.relowner) as name from pg_class c
     where c.oid = to_regclass('app.migrations')
), schemas as (
    select n.oid, n.nspname, n.nspowner from pg_namespace n
     where n.nspname in ('app', 'api', 'rest', 'accounts', 'feed', 'admin')
), others (kind, name, owner) as (
    select 'schema', format('%I', s.nspname), s.nspowner from schemas s
    union all
    -- The sequence of a column follows its table.
    select case c.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'table' end,
           format('%I.%I', n.nspname, c.relname), c.relowner
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm')
       and (n.nspname || '.' || c.relname = any ($1::text[]) or n.oid in (select s.oid from schemas s))
    union all
    select 'function', format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)), p.proowner
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where (n.oid in (select s.oid from schemas s)
            or n.nspname = 'public' and p.proname in ('is_read', 'unread_count'))
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    union all
    select 'domain', format('%I.%I', s.nspname, t.typname), t.typowner
      from pg_type t join schemas s on s.oid = t.typnamespace where t.typtype = 'd'
)
select o.kind, o.name, pg_get_userbyid(o.owner) as owner, w.name as wanted,
       format('alter %s %s owner to %I', o.kind, o.name, w.name) as statement
  from others o cross join owner w where o.owner <> w.oid order by o.kind, o.name
