-- The roles that the service takes on, and whether the role that asks may.
select wanted.name,
       r.oid is not null as is_there,
       coalesce(r.rolsuper or r.rolbypassrls or r.rolcreaterole, false) as is_strong,
       case when r.oid is null then false
            when current_setting('server_version_num')::integer >= 160000 then pg_has_role(current_user, r.oid, 'SET')
            else pg_has_role(current_user, r.oid, 'MEMBER') end as may_set
  from unnest(array['anon', 'authenticated', 'postline_feed', 'postline_accounts', 'postline_sender']) with ordinality
         as wanted (name, place)
  left join pg_roles r on r.rolname = wanted.name
 order by wanted.place
