-- An application says which of its kinds users may start: p_kinds is an array of {"kind", "template", "unique", "quota"}.
-- Of p_known, all that it handles, those not among them are closed; kinds of other applications stay as they are.
create or replace function penstock.declare_kinds(p_kinds jsonb, p_known text[])
returns void
language plpgsql
as $$
begin
  delete from penstock.kinds
   where kind = any(p_known)
     and kind <> all(array(select each->>'kind' from jsonb_array_elements(p_kinds) as each));
  insert into penstock.kinds as k (kind, template, is_unique, quota)
  select each->>'kind', each->'template', coalesce((each->>'unique')::boolean, false), each->>'quota'
    from jsonb_array_elements(p_kinds) as each
   order by 1
      on conflict (kind) do update
     set template = excluded.template, is_unique = excluded.is_unique, quota = excluded.quota
   where (k.template, k.is_unique, k.quota) is distinct from (excluded.template, excluded.is_unique, excluded.quota);
end
$$;
