-- Errors since a time that are alike, those of most attempts first: how many attempts failed so, how many jobs were given up, when it was
-- last, a job to look at, and how many there were in each hour.
create or replace function penstock.error_groups(p_since timestamptz, p_kind text default null, p_limit int default 50)
returns table (
  id uuid, kind text, queue text, type text, message text, attempts bigint, jobs bigint, first_at timestamptz, last_at timestamptz,
  example uuid, trend jsonb
)
language sql stable
set jit = off
as $$
  select f.id, min(f.kind), min(f.queue), min(f.type), min(f.message), sum(f.attempts)::bigint, sum(f.jobs)::bigint,
         min(f.hour), max(f.last_at), (array_agg(f.example order by f.hour desc))[1],
         jsonb_agg(jsonb_build_object('at', f.hour, 'attempts', f.attempts, 'jobs', f.jobs) order by f.hour)
    from penstock.failures as f
   where f.hour >= date_trunc('hour', p_since) and (p_kind is null or f.kind = p_kind)
   group by f.id
   order by sum(f.attempts) desc, f.id
   limit p_limit
$$;
