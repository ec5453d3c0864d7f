-- Writes the progress of running jobs. p_progress is a JSON array in the order of p_ids of
--   {"percent": 0..100, "phase": text, "message": text, "done": n, "total": n}; fields left out stay as they were.
-- A flow's own last step does not take its percentage back behind what its children reached.
-- Returns the accepted ids and whether somebody wants the job stopped; a refused one is not among them.
create or replace function penstock.report_progress(p_lease bigint, p_ids uuid[], p_claims int[], p_progress jsonb)
returns table (id uuid, cancel_requested boolean)
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_job record;
  v_before numeric;
  v_percent numeric;
  v_report jsonb;
  v_watched uuid[] := '{}';
begin
  perform penstock.lock_flows(p_ids);
  for v_job in
    select j.*, d.report
      from penstock.jobs as j
      join rows from (unnest(p_ids), unnest(p_claims), jsonb_array_elements(p_progress)) as d (id, claims, report)
        on d.id = j.id and d.claims = j.claims
     where j.id = any(p_ids) and j.lease = p_lease
     order by j.id
       for update of j
  loop
    v_before := coalesce((v_job.progress->>'percent')::numeric, 0);
    if v_job.report->>'percent' is null then
      v_percent := v_before;
      v_report := v_job.report - 'percent';
    else
      v_percent := least(100, greatest(0, (v_job.report->>'percent')::numeric,
        case when v_job.rollup is not null then v_before end));
      v_report := v_job.report || jsonb_build_object('percent', v_percent);
    end if;
    update penstock.jobs as j
       set progress = coalesce(j.progress, '{}') || v_report
     where j.id = v_job.id;
    if v_job.parent is not null then
      perform penstock.bubble(v_job.parent, v_job.phase,
        (v_percent - v_before) / 100 * coalesce(v_job.weight, 1)::numeric, v_job.report->>'message', v_job.id);
    end if;
    if v_job.watched then
      v_watched := v_watched || v_job.id;
    end if;
    id := v_job.id;
    cancel_requested := v_job.cancel_requested;
    return next;
  end loop;
  if v_watched <> '{}' then
    perform penstock.tell_watchers(v_watched);
  end if;
end
$$;
