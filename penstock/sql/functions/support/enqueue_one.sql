-- Writes one job that new_job() has read, and returns its id and whether it is new. Two hundred callers with one unique
-- key at once make one job: the index decides, and whoever loses waits for the winner's commit, then finds it, or is
-- the next to try when the winner rolled back or the job has finished meanwhile.
create or replace function penstock.enqueue_one(p_row penstock.jobs, p_job jsonb, p_jobs jsonb)
returns table (id uuid, created boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_key text := p_job->>'idempotency_key';
  v_of_user boolean := coalesce((p_job->>'key_of_user')::boolean, false);
  v_fair_by text;
  v_large jsonb;
begin
  if v_key is not null then
    id := penstock.take_idempotency_key(
      coalesce(p_row.owner, ''), v_of_user, v_key, p_row.id, penstock.fingerprint(p_job, p_jobs),
      (p_job->>'idempotency_ttl')::double precision);
    if id is not null then
      created := false;
      return next;
      return;
    end if;
  end if;
  if p_job ? 'after' then
    p_row.waiting_on := p_row.waiting_on + penstock.add_edges(p_row.id, p_job->'after');
  end if;
  select fair_by into v_fair_by from penstock.queues where name = p_row.queue;
  if v_fair_by is not null then
    p_row.turn := penstock.take_turns(p_row.queue,
      case v_fair_by when 'owner' then p_row.owner when 'org' then p_row.org else p_row.limit_key end, 1);
  end if;
  p_row.state := case
    when p_row.waiting_on > 0 then 'blocked'
    when p_row.run_at > p_row.created_at then 'scheduled'
    else 'ready' end;

  if penstock.is_large(p_row.args) then
    v_large := p_row.args;
    p_row.args := null;
  end if;
  loop
    insert into penstock.jobs
    select p_row.*
        on conflict (kind, unique_key, coalesce(owner, ''), coalesce(org, '')) where unique_key is not null do nothing
    returning id into id;
    created := found;
    if not created then
      select id into id
        from penstock.jobs
       where kind = p_row.kind and unique_key = p_row.unique_key
         and coalesce(owner, '') = coalesce(p_row.owner, '') and coalesce(org, '') = coalesce(p_row.org, '');
    end if;
    exit when id is not null;
  end loop;
  if not created then
    update penstock.idempotency_keys
       set job = enqueue_one.id
     where owner = coalesce(p_row.owner, '') and of_user = v_of_user and key = v_key;
    delete from penstock.edges where job = p_row.id;
  elsif v_large is not null then
    insert into penstock.payloads (id, owner, org, args) values (p_row.id, p_row.owner, p_row.org, v_large);
  end if;
  return next;
end
$$;
