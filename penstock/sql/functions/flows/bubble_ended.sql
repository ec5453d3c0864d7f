-- Books ended children in their flow's roll-up and carries the progress up. A flow says what one of its running jobs said
-- last: when the one that spoke has ended, another's words take their place.
create or replace function penstock.bubble_ended(p_flow penstock.jobs, p_amounts jsonb, p_ended jsonb, p_ids uuid[])
returns void
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_rollup jsonb := penstock.rollup_add(p_flow.rollup, p_amounts, p_ended);
  v_speaking jsonb := v_rollup->'speaking';
  v_progress jsonb;
  v_message text;
begin
  if v_speaking ?| p_ids::text[] then
    v_rollup := v_rollup || jsonb_build_object('speaking', v_speaking - p_ids::text[]);
    if v_speaking->>-1 = any(p_ids::text[]) then
      -- must use jobs_pkey
      select j.progress->>'message'
        into v_message
        from penstock.jobs as j
       where j.id = any(array(select jsonb_array_elements_text(v_rollup->'speaking'))::uuid[])
         and j.state::text in ('running', 'blocked') and j.progress->>'message' is not null
       order by array_position(array(select jsonb_array_elements_text(v_rollup->'speaking')), j.id::text) desc
       limit 1;
    end if;
  end if;
  v_progress := penstock.rollup_progress(v_rollup, p_flow.progress, v_message);
  update penstock.jobs set rollup = v_rollup, progress = v_progress where id = p_flow.id;
  if p_flow.watched then
    perform penstock.tell_watchers(array[p_flow.id]);
  end if;
  perform penstock.bubble(p_flow.parent, p_flow.phase,
    ((v_progress->>'percent')::numeric - coalesce((p_flow.progress->>'percent')::numeric, 0)) / 100
      * coalesce(p_flow.weight, 1)::numeric, v_message, p_flow.id);
end
$$;
