-- Counts one more download of each file.
create or replace function penstock.count_downloads(p_ids uuid[])
returns void
language sql
as $$
  update penstock.artifacts set downloads = downloads + 1 where id = any(p_ids)
$$;
