-- The tables as apps expect them that use Supabase's API (PostgREST): see sql/api/rest.sql.
create schema if not exists rest;
