-- An application says which of its kinds users may start: p_kinds is an array of {"kind", "template", "unique", "quota"}.
-- Of p_known, all that it handles, those not among them are closed. So are those that it opened before and handles no more,
-- unless a worker still does; kinds of other applications, which have none in common with it, stay as they are.
create or replace function penstock.declare_kinds(p_kinds jsonb, p_known text[])
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  delete from penstock.kinds
   where kind <> all(array(select each->>'kind' from jsonb_array_elements(p_kinds) as each))
     and (kind = any(p_known)
          or (declared_with && p_known
              and not exists (
                select from penstock.leases_now as l
                 where kinds.kind = any(l.kinds) and l.expires_at > penstock.clock())));
  insert into penstock.kinds as k (kind, template, is_unique, quota, declared_with)
  select each->>'kind', each->'template', coalesce((each->>'unique')::boolean, false), each->>'quota', p_known
    from jsonb_array_elements(p_kinds) as each
   order by 1
      on conflict (kind) do update
     set template = excluded.template, is_unique = excluded.is_unique, quota = excluded.quota,
         declared_with = excluded.declared_with
   where (k.template, k.is_unique, k.quota, k.declared_with)
         is distinct from (excluded.template, excluded.is_unique, excluded.quota, excluded.declared_with);
end
$$;
