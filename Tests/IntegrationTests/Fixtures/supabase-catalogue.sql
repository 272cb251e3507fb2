-- All that belongs to Supabase, one line each: what is there, whose it is, and who may do what with it.
with schemas as (
    select oid, nspname, nspowner, nspacl from pg_namespace
     where nspname in ('auth', 'extensions', 'storage', 'realtime', 'graphql_public', 'vault', 'public')
), grants (kind, name, owner, acl) as (
    select 'schema', nspname::text, nspowner, nspacl from schemas
    union all
    select 'table', c.oid::regclass::text, c.relowner, c.relacl from pg_class c join schemas s on s.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm', 'S') and (s.nspname <> 'public' or c.relname like 'todos%')
    union all
    select 'function', p.oid::regprocedure::text, p.proowner, p.proacl
      from pg_proc p join schemas s on s.oid = p.pronamespace
     where s.nspname <> 'public'
       and not exists (select from pg_depend d join pg_extension e on e.oid = d.refobjid
                        where d.objid = p.oid and d.deptype = 'e' and e.extname = 'pg_trgm')
    union all
    select 'database', datname::text, datdba, datacl from pg_database where datname = current_database()
), lines (line) as (
    select format('%s %s of %s: %s', g.kind, g.name, g.owner::regrole, coalesce(x.line, ''))
      from grants g
      left join lateral (
          select format('%s to %s from %s%s', string_agg(a.privilege_type, ',' order by a.privilege_type),
                        case a.grantee when 0 then 'public' else a.grantee::regrole::text end, a.grantor::regrole,
                        case when a.is_grantable then ' with grant option' else '' end) as line
            from aclexplode(g.acl) a group by a.grantee, a.grantor, a.is_grantable
      ) x on true
    union all
    select format('column %s.%s %s%s%s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
                  case when a.attnotnull then ' not null' else '' end,
                  coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''))
      from pg_attribute a join pg_class c on c.oid = a.attrelid join schemas s on s.oid = c.relnamespace
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v')
       and (s.nspname <> 'public' or c.relname like 'todos%')
    union all
    select format('index %s', pg_get_indexdef(i.indexrelid))
      from pg_index i join pg_class c on c.oid = i.indrelid join schemas s on s.oid = c.relnamespace
     where s.nspname <> 'public' or c.relname like 'todos%'
    union all
    select format('security of %s: %s %s', c.oid::regclass, c.relrowsecurity, c.relforcerowsecurity)
      from pg_class c join schemas s on s.oid = c.relnamespace
     where c.relkind = 'r' and (s.nspname <> 'public' or c.relname like 'todos%')
    union all
    select format('policy %s on %s.%s to %s: %s %s', policyname, schemaname, tablename, roles, qual, with_check)
      from pg_policies where schemaname in ('auth', 'storage', 'realtime') or tablename like 'todos%'
    union all
    select format('source %s: %s', p.oid::regprocedure, md5(p.prosrc))
      from pg_proc p join schemas s on s.oid = p.pronamespace
     where s.nspname in ('auth', 'storage') or p.proname = 'pgrst_ddl_watch'
    union all
    select format('constraint %s on %s: %s', k.conname, k.conrelid::regclass, pg_get_constraintdef(k.oid))
      from pg_constraint k join pg_class c on c.oid = k.conrelid join schemas s on s.oid = c.relnamespace
     where s.nspname <> 'public' or c.relname like 'todos%'
    union all
    select format('trigger %s', pg_get_triggerdef(t.oid))
      from pg_trigger t join pg_class c on c.oid = t.tgrelid join schemas s on s.oid = c.relnamespace
     where s.nspname <> 'public' and not t.tgisinternal
    union all
    select format('role %s: %s%s%s%s%s%s%s %s', r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb,
                  r.rolcanlogin, r.rolreplication, r.rolbypassrls, r.rolconfig)
      from pg_roles r where r.rolname not like 'pg\_%' and r.rolname not like 'postline%'
    union all
    select format('member %s of %s', m.member::regrole, m.roleid::regrole)
      from pg_auth_members m
     where m.member::regrole::text not like 'postline%' and m.roleid::regrole::text not like 'postline%'
    union all
    select format('default for %s in %s %s: %s', d.defaclrole::regrole, d.defaclnamespace::regnamespace, d.defaclobjtype,
                  d.defaclacl)
      from pg_default_acl d
    union all
    select format('publication %s of %s: %s', p.pubname, p.pubowner::regrole,
                  (select array_agg(t.tablename) from pg_publication_tables t where t.pubname = p.pubname))
      from pg_publication p
    union all
    select format('event trigger %s of %s: %s', e.evtname, e.evtowner::regrole, e.evtenabled) from pg_event_trigger e
    union all
    select format('extension %s in %s', e.extname, e.extnamespace::regnamespace) from pg_extension e
)
select line from lines order by line
