-- Tells whoever watches a job that it has been claimed. Returns 0, to be added to something in the statement that claims it.
create or replace function penstock.tell_it_runs(p_id uuid)
returns int
language plpgsql
as $$
begin
  perform pg_notify((select job from penstock.channels), json_build_object('id', p_id, 'state', 'running')::text);
  return 0;
end
$$;
