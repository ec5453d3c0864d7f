-- The organisations of the user, by claims that users cannot edit themselves: org_id, or Supabase's app_metadata with
-- org_id or org_ids. Never user_metadata. Only text names one. Asked for with every request, so a token without any is done
-- with at once.
create or replace function penstock.caller_orgs()
returns text[]
language plpgsql stable
as $$
declare
  v_claims jsonb := nullif(current_setting('request.jwt.claims', true), '')::jsonb;
begin
  if v_claims is null or not v_claims ?| '{org_id,app_metadata}' then
    return '{}';
  end if;
  return array(
    select distinct org #>> '{}'
      from (
        select v_claims->'org_id' as org
        union all
        select v_claims->'app_metadata'->'org_id'
        union all
        select jsonb_array_elements(
                 case when jsonb_typeof(v_claims->'app_metadata'->'org_ids') = 'array'
                      then v_claims->'app_metadata'->'org_ids' end)
      ) as orgs
     where jsonb_typeof(org) = 'string' and org <> '""');
end
$$;
