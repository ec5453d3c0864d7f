-- Which of these paths belong to an artifact, whatever its state.
create or replace function penstock.known_paths(p_paths text[])
returns setof text
language sql stable
as $$
  select path from penstock.artifacts where path = any(p_paths)
$$;
