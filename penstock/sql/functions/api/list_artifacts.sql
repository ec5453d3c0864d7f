-- What is stored, newest first, one page at a time: p_before is the last id of the page before.
create or replace function penstock.list_artifacts(p_owner text, p_org text, p_before uuid, p_limit int)
returns setof penstock.artifacts
language sql stable
begin atomic
  select *
    from penstock.artifacts
   where state = 'stored' and (p_owner is null or owner = p_owner) and (p_org is null or org = p_org)
     and (p_before is null or id < p_before)
   order by id desc
   limit p_limit;
end;
