-- Gives jobs that came back to life in fair queues, or came due, a turn behind what their key has waiting. With their old turns, which
-- were served long ago, a tenant who retries a million jobs would run them all before anybody else's next.
create or replace function penstock.retake_turns(p_ids uuid[])
returns void
language plpgsql
as $$
declare
  v_key record;
  v_first bigint;
begin
  for v_key in
    select j.queue, k.key, array_agg(j.id order by j.priority desc, j.run_at, j.id) as ids
      from penstock.jobs as j
      join penstock.queues as q on q.name = j.queue
     cross join lateral (
       select case q.fair_by when 'owner' then j.owner when 'org' then j.org else j.limit_key end) as k (key)
     where j.id = any(p_ids) and q.fair_by is not null
     group by j.queue, k.key
  loop
    v_first := penstock.take_turns(v_key.queue, v_key.key, cardinality(v_key.ids));
    update penstock.jobs as j
       set turn = v_first + r.place - 1
      from unnest(v_key.ids) with ordinality as r (id, place)
     where j.id = r.id;
  end loop;
end
$$;
