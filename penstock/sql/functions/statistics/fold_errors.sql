-- Adds the errors that were reported to those of their hour. Two hundred of an hour are told apart; what comes beyond goes together.
create or replace function penstock.fold_errors(p_numbers bigint[])
returns void
language plpgsql
set jit = off
as $$
declare
  c_most constant int := 200;
  v_error record;
  v_id uuid;
begin
  for v_error in
    select date_trunc('hour', r.at) as hour, e.kind, e.message, min(e.queue) as queue, min(e.type) as type,
           sum(e.attempts) as attempts, sum(e.jobs) as jobs, max(r.at) as last_at,
           (array_agg(e.example order by r.number desc))[1] as example
      from penstock.reports as r
     cross join jsonb_to_recordset(r.errors) as e (
       kind text, queue text, type text, message text, attempts bigint, jobs bigint, example uuid)
     where r.number = any(p_numbers)
     group by 1, 2, 3
     order by 1, 6 desc
  loop
    v_id := md5(v_error.kind || chr(10) || v_error.message)::uuid;
    if not exists (select from penstock.failures where hour = v_error.hour and id = v_id)
       and (select count(*) from penstock.failures where hour = v_error.hour) >= c_most
    then
      v_error.message := 'other errors';
      v_error.type := null;
      v_id := md5(v_error.kind || chr(10) || v_error.message)::uuid;
    end if;
    insert into penstock.failures as f (hour, id, last_at, example, attempts, jobs, kind, queue, type, message)
    values (v_error.hour, v_id, v_error.last_at, v_error.example, v_error.attempts, v_error.jobs, v_error.kind, v_error.queue,
            v_error.type, v_error.message)
        on conflict (hour, id) do update
       set last_at = excluded.last_at, example = excluded.example, attempts = f.attempts + excluded.attempts,
           jobs = f.jobs + excluded.jobs;
  end loop;
end
$$;
