-- Why a job of the caller's did not succeed, in words meant to be shown.
create or replace function penstock.shown_error(p_id uuid)
returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select penstock.shown(penstock.errors_of(h.id))
    from penstock.history as h
   where h.id = p_id and penstock.is_callers(h.owner, h.org)
$$;
