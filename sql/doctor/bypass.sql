-- True if row-level security does not hold for the current role. The service runs this too, on databases that may have
-- no function of ours yet.
select exists (select from pg_catalog.pg_roles r
                where r.rolname = current_user
                  and (r.rolsuper or r.rolbypassrls
                       or exists (select from pg_catalog.pg_class c where c.relowner = r.oid))) as is_above_policies
