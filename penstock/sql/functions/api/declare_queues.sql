-- An application says what its queues are to be: {"mail": {"max_running_per_key": 1}}. A setting changes when the application says
-- something else of it than the last time, or nothing any more; what an operator has set since stays otherwise.
create or replace function penstock.declare_queues(p_queues jsonb)
returns void
language plpgsql
as $$
declare
  v_queue text;
  v_settings jsonb;
  v_before jsonb;
  v_changes jsonb;
begin
  for v_queue, v_settings in select key, value from jsonb_each(p_queues) order by key loop
    select settings into v_before from penstock.declared_queues where queue = v_queue;
    continue when v_before = v_settings;
    -- several workers may start at once: the first does it
    insert into penstock.declared_queues (queue, settings) values (v_queue, '{}') on conflict do nothing;
    select settings into v_before from penstock.declared_queues where queue = v_queue for update;
    select jsonb_object_agg(key, v_settings->key) into v_changes
      from jsonb_object_keys(v_before || v_settings) as key
     where v_settings->key is distinct from v_before->key;
    if v_changes is not null then
      perform penstock.set_queue(v_queue, v_changes);
      update penstock.declared_queues set settings = v_settings where queue = v_queue;
    end if;
  end loop;
end
$$;
