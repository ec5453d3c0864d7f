-- What a job waited for and what came of it: the jobs named by its edges, and its children if it is a flow.
create or replace function penstock.outputs(p_id uuid)
returns table (id uuid, name text, kind text, phase text, state penstock.job_state, args jsonb, output jsonb)
language sql stable
set enable_seqscan = off
set jit = off
as $$
  select h.id, h.options->>'name', h.kind, h.phase, h.state, coalesce(h.args, penstock.payload_of(h.id)), h.output
    from penstock.history as h
   where h.id = any(array(select waits_for from penstock.edges where job = p_id))
  union
  select h.id, h.options->>'name', h.kind, h.phase, h.state, coalesce(h.args, penstock.payload_of(h.id)), h.output
    from penstock.history as h
   where h.parent = p_id
   order by 1
$$;
