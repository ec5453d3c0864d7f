-- What a job waited for and what came of it, for its holder: the jobs named by its edges, and its children if it is a flow; not those
-- that it called itself, which are there in one run and not yet in the one before. Raises PS004 for anybody else.
create or replace function penstock.outputs(p_lease bigint, p_id uuid, p_claims int)
returns table (id uuid, name text, kind text, phase text, state penstock.job_state, args jsonb, output jsonb)
language plpgsql stable
set enable_seqscan = off
set jit = off
as $$
begin
  perform penstock.refuse_others(p_lease, p_id, p_claims);
  return query
  select h.id, h.options->>'name', h.kind, h.phase, h.state, coalesce(h.args, penstock.payload_of(h.id)), h.output
    from penstock.history as h
   where h.id = any(array(
           select waits_for from penstock.edges where job = p_id
           union all
           select child.id
             from penstock.history as child
            where child.parent = p_id
              and child.id not in (
                select called::uuid
                  from penstock.steps as s
                 cross join jsonb_array_elements_text(s.output->'ids') as called
                 where s.job = p_id and s.kind = 'call')))
   order by h.id;
end
$$;
