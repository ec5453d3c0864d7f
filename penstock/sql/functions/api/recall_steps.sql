create or replace function penstock.recall_steps(p_id uuid)
returns table (name text, output jsonb)
language sql stable
as $$
  select name, output from penstock.steps where job = p_id order by done_at, name
$$;
