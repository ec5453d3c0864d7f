-- What a job and everything below it in its flow have stored, in the order the jobs were enqueued. Must use artifacts_job.
create or replace function penstock.artifacts_of_job(p_job uuid)
returns setof penstock.artifacts
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
begin
  return query
    select a.*
      from penstock.artifacts as a
     where a.job = any(array(select t.id from penstock.job_tree(p_job) as t union select p_job)) and a.state = 'stored'
     order by a.job, a.id;
end
$$;
