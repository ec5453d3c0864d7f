-- The names of all queues that have settings, or have jobs ready, or had them claimed. Those with a floor are known by it; between
-- their names jobs_ready is looked at in steps, one for each queue that nobody has claimed from. A standby, which has no floors, does
-- so for all.
create or replace function penstock.queue_names()
returns text[]
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  v_known text[] := '{}';
  v_found text[] := '{}';
  v_from text := '';
  v_until text;
begin
  while not pg_is_in_recovery() loop
    v_from := (select queue from penstock.floors where queue > v_from order by queue, line, number desc limit 1);
    exit when v_from is null;
    v_known := v_known || v_from;
  end loop;
  v_from := '';
  foreach v_until in array v_known || null::text loop
    loop
      -- in two, for `v_until is null or ...` is no end that an index scan stops at
      if v_until is null then
        v_from := (
          select queue from penstock.jobs
           where state = 'ready' and queue > v_from order by queue limit 1);
      else
        v_from := (
          select queue from penstock.jobs
           where state = 'ready' and queue > v_from and queue < v_until order by queue limit 1);
      end if;
      exit when v_from is null;
      v_found := v_found || v_from;
    end loop;
    v_from := v_until;
  end loop;
  return array(
    select name from penstock.queues
    union
    select unnest(v_known || v_found)
    order by 1);
end
$$;
