-- Raises the times before which nothing is scheduled, and before which nothing has started that still runs but the jobs named, and
-- the number below which nobody waits, and returns them: as far as they are settled, see raise_horizon(). What is to come is due
-- later than it is scheduled, and starts later than its transaction got its number. By a clock that has gone back neither is so: all
-- times are looked at until others are settled.
create or replace function penstock.raise_time_floor()
returns penstock.time_floors
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := penstock.clock();
  v_horizon penstock.horizons;
  v_old penstock.time_floors;
  v_new penstock.time_floors;
  v_pause interval;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    return penstock.time_floor();
  end if;
  select * into v_old from penstock.time_floors order by number desc limit 1 for update skip locked;
  if not found then
    v_old := penstock.time_floor();
    if v_old.number is not null then
      return v_old;
    end if;
  end if;
  -- a long list is not written anew each time, even if it says the same
  v_pause := (50 + cardinality(v_old.started_before)) * interval '1 millisecond';
  if v_old.raised_at between v_now - v_pause and v_now then
    return v_old;
  elsif v_old.raised_at > v_now then
    v_old := penstock.time_floor();
  end if;
  select * into v_horizon from penstock.horizons order by number desc limit 1;
  v_new := v_old;
  v_new.number := nextval('penstock.floor_numbers');
  v_new.raised_at := v_now;
  if v_horizon.settled_at > v_old.due_since then
    v_new.due_since := least(v_horizon.settled_at, (
      select run_at from penstock.jobs where state = 'scheduled' and run_at >= v_old.due_since order by run_at limit 1));
  end if;
  if v_horizon.settled_waiting >= v_old.waiting_since then
    v_new.waiting_since := least(v_horizon.settled_waiting + 1, (
      select number from penstock.waiting where number >= v_old.waiting_since order by number limit 1));
  end if;
  if v_horizon.settled_at > v_old.started_since then
    v_new.started_since := v_horizon.settled_at;
    select coalesce(array_agg(id), '{}'), coalesce(array_agg(owner), '{}')
      into v_new.started_before, v_new.started_by
      from (select id, case when quota is not null then owner end as owner
              from penstock.jobs
             where id = any(v_old.started_before) and state::text = 'running' and started_at < v_old.started_since
            union all
            select j.id, j.owner
              from penstock.leases as l
             cross join lateral (
               select r.id, case when r.quota is not null then r.owner end as owner
                 from penstock.jobs as r
                where r.state = 'running' and r.lease = l.id
                  and r.started_at >= v_old.started_since and r.started_at < v_new.started_since
               offset 0) as j) as running;
  end if;
  insert into penstock.time_floors select v_new.*;
  delete from penstock.time_floors where number = v_old.number;
  return v_new;
end
$$;
