-- Counts jobs that have ended and that no worker can report: cancelled before they ran, or lost with their worker.
create or replace function penstock.note_ended(p_ids uuid[], p_state penstock.job_state, p_message text default null)
returns void
language plpgsql
set enable_seqscan = off
set jit = off
as $$
begin
  if cardinality(p_ids) = 0 then
    return;
  end if;
  insert into penstock.reports (at, runs, errors)
  select penstock.clock(),
         jsonb_agg(jsonb_build_object('queue', queue, 'kind', kind, p_state::text, jobs)),
         case when p_message is null then '[]'
              else jsonb_agg(jsonb_build_object(
                     'kind', kind, 'queue', queue, 'message', p_message, 'attempts', jobs, 'jobs', jobs, 'example', example)) end
    from (select queue, kind, count(*) as jobs, (array_agg(id))[1] as example
            from penstock.history where id = any(p_ids) group by queue, kind) as ended
  having count(*) > 0;
end
$$;
