-- Whether whoever asks may do what the service may.
create or replace function penstock.is_service()
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select has_table_privilege('penstock.jobs', 'insert')
$$;
