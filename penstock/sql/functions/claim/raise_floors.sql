-- Raises the floors of queues whose jobs nobody has claimed for a second, where anything has been enqueued since: jobs that are
-- handed over are never claimed. A few at a time.
create or replace function penstock.raise_floors(p_most int default 20)
returns int
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_now constant timestamptz := penstock.clock();
  v_turn bigint := (select settled_turn from penstock.horizons order by number desc limit 1);
  v_floor penstock.floors;
  v_queue text := '';
  v_line int := 0;
  v_raised int := 0;
begin
  -- the newest row of each; one that nobody has claimed from has jobs in hand of those who wait for it
  loop
    select * into v_floor
      from penstock.floors
     where (queue, line) > (v_queue, v_line)
     order by queue, line, number desc
     limit 1;
    exit when not found or v_raised >= p_most;
    v_queue := v_floor.queue;
    v_line := v_floor.line;
    if v_floor.raised_at not between v_now - interval '1 second' and v_now and (v_floor.fair or coalesce(v_floor.settled, -1) < v_turn) then
      perform penstock.raise_floor(v_queue, v_line);
      v_raised := v_raised + 1;
    end if;
  end loop;
  for v_queue in
    select distinct queue from penstock.waiting_now as w where (penstock.floor_of(w.queue)).queue is null limit p_most - v_raised
  loop
    perform penstock.raise_floor(v_queue);
    v_raised := v_raised + 1;
  end loop;
  return v_raised;
end
$$;
