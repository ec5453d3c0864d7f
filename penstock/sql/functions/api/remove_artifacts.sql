-- Marks artifacts as being removed: nobody sees them any more. Returns those that were there.
create or replace function penstock.remove_artifacts(p_ids uuid[])
returns setof uuid
language sql
as $$
  update penstock.artifacts set state = 'removing' where id = any(p_ids) and state = 'stored' returning id
$$;
