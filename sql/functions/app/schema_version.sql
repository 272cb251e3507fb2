-- Adds a version to those that have migrated this database, in a comment that every role can read; only the owner can
-- read the ledger. A node of an earlier version finds its own there and continues; a node of a later one refuses to
-- start.
create or replace function app.record_schema_version(signature text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    signed text := pg_catalog.obj_description('api'::pg_catalog.regnamespace, 'pg_namespace');
begin
    if pg_catalog.strpos(coalesce(signed, ''), signature) = 0 then
        execute pg_catalog.format('comment on schema api is %L', pg_catalog.concat_ws(' ', signed, signature));
    end if;
end
$$;
