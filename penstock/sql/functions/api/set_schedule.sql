-- Sets up a schedule, or changes it; pausing and what has been fired stay as they are. When its times change, the next
-- tick is p_next, else it stays: a change fires nothing by itself. SQL cannot read a cron expression: without p_next the
-- next tick is worked out by the worker that leads. p_options are fields of a job, such as queue and max_attempts.
create or replace function penstock.set_schedule(
  p_name text, p_cron text, p_kind text, p_args jsonb default '{}', p_tz text default 'UTC',
  p_catch_up text default 'one', p_options jsonb default '{}', p_source text default 'database',
  p_next timestamptz default null
)
returns penstock.schedules
language plpgsql
as $$
declare
  v_schedule penstock.schedules;
  v_unknown text;
begin
  if coalesce(p_name, '') = '' then
    raise exception 'name: must not be empty' using errcode = 'PS001';
  elsif p_cron is null or p_cron !~ '^\s*\S+(\s+\S+){4,5}\s*$' then
    raise exception 'cron: % is no cron expression of five or six fields', coalesce(p_cron, 'null') using errcode = 'PS001';
  elsif coalesce(p_tz, '') = '' then
    raise exception 'tz: must not be empty' using errcode = 'PS001';
  elsif p_catch_up is null or p_catch_up not in ('none', 'one', 'all') then
    raise exception 'catch_up: % is none of none, one, all', coalesce(p_catch_up, 'null') using errcode = 'PS001';
  elsif jsonb_typeof(p_options) is distinct from 'object' then
    raise exception 'options: must be a JSON object' using errcode = 'PS001';
  end if;
  select key into v_unknown
    from jsonb_object_keys(p_options) as key
   where key <> all('{queue,priority,delay,max_attempts,max_snoozes,owner,org,unique_key,limit_key,options,
                      quota}'::text[])
   limit 1;
  if found then
    raise exception '%: no such option of a schedule', v_unknown using errcode = 'PS001';
  end if;
  -- refuses now what could not be enqueued later
  perform penstock.new_job(jsonb_build_object('kind', p_kind, 'args', p_args) || p_options);

  insert into penstock.schedules as s
         (name, cron, tz, kind, args, catch_up, options, source, next_tick, created_at)
  values (p_name, p_cron, p_tz, p_kind, p_args, p_catch_up, p_options, p_source, p_next, penstock.clock())
      on conflict (name) do update
     set cron = excluded.cron, tz = excluded.tz, kind = excluded.kind, args = excluded.args,
         catch_up = excluded.catch_up, options = excluded.options, source = excluded.source,
         next_tick = case
           when s.paused then null
           when s.cron = excluded.cron and s.tz = excluded.tz then coalesce(s.next_tick, excluded.next_tick)
           else excluded.next_tick end
   where s.source = 'database' or excluded.source = 'code'
  returning * into v_schedule;
  if not found then
    raise exception 'name: % is a schedule of the code; change it there, or take another name', p_name
      using errcode = 'PS001';
  end if;
  return v_schedule;
end
$$;
