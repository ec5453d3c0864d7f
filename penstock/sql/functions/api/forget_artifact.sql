-- The file is gone: so is the row.
create or replace function penstock.forget_artifact(p_id uuid)
returns void
language sql
as $$
  delete from penstock.artifacts where id = p_id and state = 'removing'
$$;
