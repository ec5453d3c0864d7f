-- Forgets the floors that have a ready job below them, and returns how many. By all we know there is none; but somebody may
-- have made one ready by hand, and nobody would find it. Walks what no other look does, so not for every second.
create or replace function penstock.lower_floors()
returns int
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  v_floor penstock.floors;
  v_queue text := '';
  v_line int := 0;
  v_lowered int := 0;
begin
  loop
    select * into v_floor
      from penstock.floors
     where (queue, line) > (v_queue, v_line)
     order by queue, line, number desc
     limit 1;
    exit when not found;
    v_queue := v_floor.queue;
    v_line := v_floor.line;
    -- must use jobs_ready; those who lag may have many jobs, of which some will do
    if exists (
      select
        from unnest(v_floor.priorities, v_floor.turns, v_floor.ids) as mark (priority, turn, id)
       cross join lateral (
         select turn, id, coalesce(quota, '') as quota, case when quota is null then limit_key else owner end as member
           from penstock.jobs
          where state = 'ready' and queue = v_queue and (quota is not null)::int = v_line and priority = mark.priority
            and turn >= 0 and turn <= mark.turn and (turn, id) < (mark.turn, mark.id)
          limit 10000) as below
       where not exists (
         select from unnest(v_floor.lagging) as l
          where l.quota = below.quota and l.member = below.member and l.priority = mark.priority
            and (l.turn, l.id) <= (below.turn, below.id))
    ) then
      delete from penstock.floors where queue = v_queue and line = v_line;
      perform penstock.wake(v_queue);
      v_lowered := v_lowered + 1;
    end if;
  end loop;
  return v_lowered;
end
$$;
