-- What an idempotency key stands for: all that was asked for, but not the ids made for it nor the trace that it carries. Of a
-- flow that is every job of the call. A caller who made the jobs of something else, a request say, tells that instead.
create or replace function penstock.fingerprint(p_job jsonb, p_jobs jsonb)
returns bytea
language plpgsql immutable
as $$
declare
  v_asked jsonb;
begin
  if p_job ? 'fingerprint' then
    v_asked := p_job->'fingerprint';
  else
    with jobs as materialized (
      select job, place
        from jsonb_array_elements(case when p_job ? 'rollup' then p_jobs else jsonb_build_array(p_job) end)
             with ordinality as each (job, place)
    )
    select jsonb_agg(
             j.job - '{id,idempotency_key,idempotency_ttl,key_of_user,parent,after,options}'::text[]
             || jsonb_build_object(
               'parent', (select p.place from jobs as p where p.job->'id' = j.job->'parent'),
               'after', (select jsonb_agg(coalesce(to_jsonb(w.place), id) order by w.place, id)
                           from jsonb_array_elements(j.job->'after') as id
                           left join jobs as w on w.job->'id' = id),
               'options', case when jsonb_typeof(j.job->'options') = 'object'
                               then nullif((j.job->'options') - 'carried', '{}') end)
             order by j.place)
      into v_asked
      from jobs as j;
  end if;
  return sha256(convert_to(v_asked::text, 'utf8'));
end
$$;
