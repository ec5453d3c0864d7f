-- The key of `unique=True`: the same work gives the same key, whatever the order of its arguments.
--   select penstock.enqueue('sync', args, org => 'acme', unique_key => penstock.dedupe_key('sync', 'acme', args))
create or replace function penstock.dedupe_key(p_kind text, p_org text, p_args jsonb)
returns text
language sql immutable
as $$
  select p_kind || '::' || coalesce(nullif(p_org, ''), 'global') || '::' || penstock.sorted_json(p_args)
$$;
