-- Reads one job from JSON: defaults filled in, every field checked. Writes nothing.
create or replace function penstock.new_job(p_job jsonb)
returns penstock.jobs
language plpgsql
as $$
declare
  -- the number, then the time: see numbered_clock()
  v_turn bigint := penstock.next_turn();
  v_now timestamptz := penstock.clock();
  v_row penstock.jobs;
  v_unknown text;
begin
  if jsonb_typeof(p_job) is distinct from 'object' then
    raise exception 'a job must be a JSON object' using errcode = 'PS001';
  end if;
  select key into v_unknown
    from jsonb_object_keys(p_job) as key
   where key <> all('{id,kind,queue,args,priority,run_at,delay,max_attempts,max_snoozes,owner,org,unique_key,limit_key,
                      idempotency_key,idempotency_ttl,fingerprint,key_of_user,parent,after,weight,phase,watched,options,
                      rollup,quota}'::text[])
   limit 1;
  if found then
    raise exception '%: no such field of a job', v_unknown using errcode = 'PS001';
  end if;
  v_row := jsonb_populate_record(null::penstock.jobs, p_job - 'after');

  v_row.id := coalesce(v_row.id, penstock.uuid7());
  v_row.queue := coalesce(v_row.queue, 'default');
  v_row.args := coalesce(v_row.args, '{}');
  v_row.priority := coalesce(v_row.priority, 0);
  v_row.max_attempts := coalesce(v_row.max_attempts, 5);
  v_row.watched := coalesce(v_row.watched, false);
  v_row.created_at := v_now;
  v_row.run_at := coalesce(v_row.run_at, v_now + make_interval(secs => coalesce((p_job->>'delay')::double precision, 0)));
  v_row.attempt := 0;
  v_row.claims := 0;
  v_row.snoozes := 0;
  v_row.turn := v_turn;
  v_row.counted := false;
  v_row.cancel_requested := false;
  v_row.quota := case
    when v_row.owner is null or p_job->'quota' = 'false' then null
    when p_job->'quota' is not null then p_job->>'quota'
    else (select k.quota from penstock.kinds as k where k.kind = v_row.kind) end;
  if octet_length(v_row.unique_key) > 255 then
    v_row.unique_key := 'sha256:' || encode(sha256(convert_to(v_row.unique_key, 'utf8')), 'hex');
  end if;

  if substring(v_row.id::text from 15 for 1) <> '7' then
    raise exception 'id: % is not a UUIDv7; leave it out to get one', v_row.id using errcode = 'PS001';
  elsif coalesce(v_row.kind, '') = '' then
    raise exception 'kind: must not be empty' using errcode = 'PS001';
  elsif v_row.queue = '' then
    raise exception 'queue: must not be empty' using errcode = 'PS001';
  elsif v_row.limit_key = '' then
    raise exception 'limit_key: must not be empty' using errcode = 'PS001';
  elsif v_row.owner = '' then
    raise exception 'owner: must not be empty' using errcode = 'PS001';
  elsif v_row.org = '' then
    raise exception 'org: must not be empty' using errcode = 'PS001';
  elsif p_job->>'idempotency_key' = '' then
    raise exception 'idempotency_key: must not be empty' using errcode = 'PS001';
  elsif (p_job->>'idempotency_ttl')::double precision <= 0 then
    raise exception 'idempotency_ttl: must be positive' using errcode = 'PS001';
  elsif jsonb_typeof(v_row.options) <> 'object' then
    raise exception 'options: must be a JSON object' using errcode = 'PS001';
  elsif v_row.unique_key = '' then
    raise exception 'unique_key: must not be empty' using errcode = 'PS001';
  elsif v_row.max_attempts < 1 then
    raise exception 'max_attempts: must be at least 1, not %', v_row.max_attempts using errcode = 'PS001';
  elsif v_row.max_snoozes < 0 then
    raise exception 'max_snoozes: must not be negative' using errcode = 'PS001';
  elsif (p_job->>'delay')::double precision < 0 then
    raise exception 'delay: must not be negative' using errcode = 'PS001';
  elsif p_job ? 'delay' and p_job ? 'run_at' then
    raise exception 'delay: give either delay or run_at, not both' using errcode = 'PS001';
  elsif v_row.weight <= 0 then
    raise exception 'weight: must be positive' using errcode = 'PS001';
  elsif v_row.unique_key is not null and v_row.parent is not null then
    raise exception 'unique_key: belongs to the flow, not to a job inside it' using errcode = 'PS001';
  elsif p_job ? 'quota' and (jsonb_typeof(p_job->'quota') not in ('string', 'null') and p_job->'quota' <> 'false'
                             or p_job->>'quota' = '') then
    raise exception 'quota: must be the name of a quota, or false for a job that does not count' using errcode = 'PS001';
  elsif jsonb_typeof(v_row.args) <> 'object' then
    raise exception 'args: must be a JSON object' using errcode = 'PS001';
  -- numeric and jsonb hold what no JSON reader of a worker does; 2 us for small arguments
  elsif v_row.args @? '$.** ? (@.type() == "number" && (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308))' then
    raise exception 'args: has a number beyond 1.8e308; pass it as text' using errcode = 'PS001';
  elsif v_row.args @? '$.**{500 to last}' then
    raise exception 'args: is nested more than 500 deep' using errcode = 'PS001';
  elsif pg_column_size(v_row.args) > 1048576 then
    raise exception 'args: over 1 MiB; put the bytes into an artifact and pass its path' using errcode = 'PS003';
  elsif pg_column_size(v_row.args) > 16384 then
    perform penstock.refuse_blobs(v_row.args);
  end if;
  return v_row;
end
$$;
