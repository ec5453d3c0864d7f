-- A job as a user may start it: kind and arguments are theirs, everything else comes from what was declared.
create or replace function penstock.job_of_user(p_kind text, p_args jsonb, p_owner text, p_org text)
returns jsonb
language plpgsql stable
as $$
declare
  v_kind penstock.kinds;
begin
  select * into v_kind from penstock.kinds where kind = p_kind;
  if not found then
    raise exception 'kind: % is not open to users', p_kind using errcode = 'PS010';
  end if;
  return (v_kind.template - 'limit_key') || jsonb_strip_nulls(jsonb_build_object(
    'limit_key', penstock.fill_key(v_kind.template->>'limit_key', p_args),
    'kind', p_kind, 'owner', p_owner, 'org', p_org, 'quota', v_kind.quota,
    'unique_key', case when v_kind.is_unique then penstock.dedupe_key(p_kind, p_org, coalesce(p_args, '{}')) end))
    || jsonb_build_object('args', coalesce(p_args, '{}'));
end
$$;
