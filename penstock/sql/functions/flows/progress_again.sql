-- The progress of a job that goes back to start again: it falls to nothing, or to what a flow's children reached, and says why.
-- p_attempt is the one to come, null when none was spent.
create or replace function penstock.progress_again(
  p_progress jsonb, p_rollup jsonb, p_reason text, p_attempt int default null, p_attempts int default null
)
returns jsonb
language sql immutable
as $$
  select case when p_rollup is null
              then coalesce(p_progress, '{}') - '{phase,done,total}'::text[] || '{"percent": 0}'
              else penstock.rollup_progress(p_rollup, p_progress) end
    || jsonb_strip_nulls(jsonb_build_object(
      'attempt', p_attempt,
      'reason', left(p_reason, 500),
      'message', case when p_attempt is null then 'Starts again: ' || left(p_reason, 500)
                      else format('Attempt %s of %s: %s', p_attempt, p_attempts, left(p_reason, 500)) end))
$$;
