-- The ready jobs of a queue's line past these marks, best first: what pick_ready() locks, for those who only look. Past the marks of
-- a floor they are all but those of who lags behind it. Becomes part of the statement that names it, which takes as many as it
-- needs; there it must use jobs_ready, whose order is the one wanted at each mark, so that nothing is sorted.
create or replace function penstock.ready_past(p_queue text, p_line int, p_priorities int[], p_turns bigint[], p_ids uuid[])
returns table (
  id uuid, run_at timestamptz, priority int, turn bigint, kind text, owner text, quota text, limit_key text
)
language sql stable
begin atomic
  select past.*
    -- one more than there are marks: then comes what is below all their priorities
    from (select generate_series(1, 1 + coalesce(cardinality(p_priorities), 0)) as place) as mark
   cross join lateral (
     (select j.id, j.run_at, j.priority, j.turn, j.kind, j.owner, j.quota, j.limit_key
        from penstock.jobs as j
       where j.state = 'ready' and j.queue = p_queue and (j.quota is not null)::int = p_line
         and j.priority < coalesce(p_priorities[place - 1], 2147483648) and j.priority > coalesce(p_priorities[place], -2147483649)
       order by j.priority desc, j.turn, j.id)
     union all
     (select j.id, j.run_at, j.priority, j.turn, j.kind, j.owner, j.quota, j.limit_key
        from penstock.jobs as j
       where j.state = 'ready' and j.queue = p_queue and (j.quota is not null)::int = p_line
         and j.priority = p_priorities[place] and j.turn < 0
       order by j.priority desc, j.turn, j.id)
     union all
     (select j.id, j.run_at, j.priority, j.turn, j.kind, j.owner, j.quota, j.limit_key
        from penstock.jobs as j
       where j.state = 'ready' and j.queue = p_queue and (j.quota is not null)::int = p_line
         and j.priority = p_priorities[place] and (j.turn, j.id) >= (p_turns[place], p_ids[place])
       order by j.priority desc, j.turn, j.id)) as past;
end;
