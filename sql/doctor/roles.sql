-- The roles that the service sets, and service_role: whether the current role can set them, whether they can log in,
-- and which of these roles they are members of. Migrations make none a member of another.
select wanted.name,
       r.oid is not null as is_there,
       coalesce(r.rolsuper or r.rolbypassrls or r.rolcreaterole, false) and wanted.name <> 'service_role' as is_strong,
       case when wanted.name = 'service_role' then true
            when r.oid is null then false
            when current_setting('server_version_num')::integer >= 160000 then pg_has_role(current_user, r.oid, 'SET')
            else pg_has_role(current_user, r.oid, 'MEMBER') end as may_set,
       coalesce(r.rolcanlogin, false) as can_login,
       (select string_agg(distinct g.rolname, ', ' order by g.rolname)
          from pg_auth_members m join pg_roles g on g.oid = m.roleid
         where m.member = r.oid
           and g.rolname in ('anon', 'authenticated', 'service_role', 'postline_feed', 'postline_accounts',
                             'postline_sender')) as member_of
  from unnest(array['anon', 'authenticated', 'service_role', 'postline_feed', 'postline_accounts', 'postline_sender'])
         with ordinality as wanted (name, place)
  left join pg_roles r on r.rolname = wanted.name
 order by wanted.place
