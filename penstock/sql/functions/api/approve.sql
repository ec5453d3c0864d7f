-- Somebody answers what a job asks (ctx.approve), whoever was asked; a line of the audit says so. p_step: only if that is
-- what it asks. Returns the step that was answered. PS014 when it was answered before, or the job is over.
create or replace function penstock.approve(
  p_job uuid, p_approved boolean, p_who text, p_comment text default null, p_step text default null
)
returns text
language plpgsql
as $$
declare
  v_step text := penstock.take_approval(p_job, p_step, p_approved, p_who, p_comment);
begin
  perform penstock.add_audit(p_who, case when p_approved then 'approve' else 'refuse' end, p_job::text,
    jsonb_strip_nulls(jsonb_build_object('step', v_step, 'comment', p_comment)));
  return v_step;
end
$$;
