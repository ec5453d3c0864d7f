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
  v_lowered int := 0;
begin
  loop
    select * into v_floor from penstock.floors where queue > v_queue order by queue, number desc limit 1;
    exit when not found;
    v_queue := v_floor.queue;
    -- must use jobs_ready
    if exists (
      select
        from unnest(v_floor.priorities, v_floor.turns, v_floor.ids) as mark (priority, turn, id)
       cross join lateral (
         select from penstock.jobs as j
          where j.state = 'ready' and j.quota is null and j.queue = v_queue and j.priority = mark.priority
            and j.turn >= 0 and j.turn <= mark.turn and (j.turn, j.id) < (mark.turn, mark.id)
          limit 1) as below
    ) then
      delete from penstock.floors where queue = v_queue;
      perform penstock.wake(v_queue);
      v_lowered := v_lowered + 1;
    end if;
  end loop;
  return v_lowered;
end
$$;
