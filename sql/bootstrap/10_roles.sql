-- The roles that grants and policies name, each made only where it is missing: Supabase has the first three.
-- None of them can log in. Needs CREATEROLE, no more.
do $$
declare
    name text;
begin
    foreach name in array array[
        'anon', 'authenticated', 'service_role', 'postline_feed', 'postline_accounts', 'postline_sender'] loop
        if to_regrole(name) is not null then
            continue;
        end if;
        begin
            execute format('create role %I nologin noinherit %s', name,
                -- Supabase's service_role bypasses row-level security; where the owner may not give that,
                -- the policies for service_role do the same for our tables.
                case name when 'service_role' then 'bypassrls' else '' end);
        exception
            when insufficient_privilege then
                execute format('create role %I nologin noinherit', name);
            when duplicate_object or unique_violation then
                null;  -- roles belong to the cluster: another database's migration made it meanwhile
        end;
    end loop;
end
$$;
