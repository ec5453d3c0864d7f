-- The steps that a job has finished so far, in their order: for whoever looks at it.
create or replace function penstock.steps_of(p_job uuid)
returns table (name text, output jsonb, done_at timestamptz)
language sql stable
as $$
  select name, output, done_at from penstock.steps where job = p_job order by done_at, name
$$;
