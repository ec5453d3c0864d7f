-- Changes the settings of a queue; fields left out stay, null takes a setting away. Times are in seconds.
--   paused, max_running, max_running_per_key, rate, rate_per_key, rate_period, fair_by, backoff, lease_length, keep, parked_timeout
create or replace function penstock.set_queue(p_name text, p_settings jsonb default '{}')
returns penstock.queues
language plpgsql
as $$
declare
  v_unknown text;
  v_queue penstock.queues;
  v_was_fair boolean;
  v_seconds text;
begin
  if coalesce(p_name, '') = '' then
    raise exception 'queue: must not be empty' using errcode = 'PS001';
  end if;
  select key into v_unknown
    from jsonb_object_keys(p_settings) as key
   where key <> all('{paused,max_running,max_running_per_key,rate,rate_per_key,rate_period,fair_by,backoff,lease_length,keep,parked_timeout}'::text[])
   limit 1;
  if found then
    raise exception '%: no such setting of a queue', v_unknown using errcode = 'PS001';
  end if;
  foreach v_seconds in array '{rate_period,lease_length,parked_timeout}'::text[] loop
    if jsonb_typeof(p_settings->v_seconds) = 'number' then
      p_settings := jsonb_set(p_settings, array[v_seconds], to_jsonb((p_settings->>v_seconds) || ' seconds'));
    end if;
  end loop;

  insert into penstock.queues (name) values (p_name) on conflict do nothing;
  select * into v_queue from penstock.queues where name = p_name for update;
  v_was_fair := v_queue.fair_by is not null;
  v_queue := jsonb_populate_record(v_queue, p_settings);
  begin
    update penstock.queues
       set paused = coalesce(v_queue.paused, false), max_running = v_queue.max_running,
           max_running_per_key = v_queue.max_running_per_key, rate = v_queue.rate, rate_per_key = v_queue.rate_per_key,
           rate_period = coalesce(v_queue.rate_period, interval '1 second'), fair_by = v_queue.fair_by,
           backoff = v_queue.backoff, lease_length = v_queue.lease_length, keep = coalesce(v_queue.keep, 'all'),
           parked_timeout = v_queue.parked_timeout
     where name = p_name
    returning * into v_queue;
  exception when check_violation then
    get stacked diagnostics v_unknown = constraint_name;
    raise exception '%', replace(regexp_replace(v_unknown, '_(is_.*)$', ': \1'), 'is_', 'must be ') using errcode = 'PS001';
  end;
  if v_queue.limited then
    -- what runs already counts from here on
    update penstock.jobs set counted = true where state = 'running' and queue = p_name and not counted;
  end if;
  if v_queue.fair_by is not null then
    -- its clock begins behind what is in line already
    perform penstock.advance_turn(p_name, (select last_value from penstock.turn_numbers))
      where not v_was_fair or penstock.turn_served(p_name) is null;
  end if;
  if v_was_fair and v_queue.fair_by is null then
    -- a job that kept its turn would wait behind everything that is enqueued from here on
    update penstock.jobs set turn = penstock.next_turn() where queue = p_name and turn > 0;
  end if;
  if not v_queue.paused then
    perform penstock.wake(p_name, 1000);
  end if;
  return v_queue;
end
$$;
