-- The text of a job's large arguments, where `args` of its row is null. One plan for all ids, pruned to a partition as it begins.
-- A function, because a sub-select would open every partition for each statement that has it, whether it runs or not.
create or replace function penstock.payload_text(p_id uuid)
returns text
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  return (select p.args::text from penstock.payloads as p where p.id = p_id);
end
$$;
