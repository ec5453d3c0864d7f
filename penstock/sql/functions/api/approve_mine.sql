-- A user answers what a job of theirs asks its owner. Null when there is no such job; PS010 when others are asked; PS014 as approve.
create or replace function penstock.approve_mine(
  p_job uuid, p_approved boolean, p_comment text default null, p_step text default null
)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from penstock.get_job(p_job) as j where penstock.is_callers(j.owner, j.org);
  if not found or penstock.caller() is null then
    return null;
  end if;
  return penstock.take_approval(p_job, p_step, p_approved, penstock.caller(), p_comment, penstock.caller());
end
$$;
