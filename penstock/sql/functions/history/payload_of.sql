-- The large arguments of a job, where `args` of its row is null.
create or replace function penstock.payload_of(p_id uuid)
returns jsonb
language sql stable
as $$
  select penstock.payload_text(p_id)::jsonb
$$;
