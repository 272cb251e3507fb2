-- Adds a version to those that have migrated here, where every role may read it: the ledger is the owner's. A node of
-- an earlier version finds itself there and goes on, one of a later version does not, and refuses.
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
