-- How long to wait after the nth attempt failed. Mirrors penstock/backoff.py; a test holds the two together.
-- A policy is {"base": s, "factor": f, "cap": s, "jitter": 0..1, "shape": "exponential"|"linear"|"constant"}. One that
-- makes no sense (written by hand, in SQL) counts as none: reporting a failure must not fail.
create or replace function penstock.backoff_delay(p_policy jsonb, p_attempt int)
returns interval
language plpgsql volatile
as $$
begin
  declare
    v_base double precision := coalesce((p_policy->>'base')::double precision, 5);
    v_factor double precision := coalesce((p_policy->>'factor')::double precision, 2);
    v_cap double precision := coalesce((p_policy->>'cap')::double precision, 3600);
    v_jitter double precision := coalesce((p_policy->>'jitter')::double precision, 0.1);
    v_steps int := greatest(p_attempt, 1) - 1;
    v_delay double precision;
  begin
    v_delay := case coalesce(p_policy->>'shape', 'exponential')
      when 'constant' then v_base
      when 'linear' then v_base * (v_steps + 1)
      -- power() overflows past double precision's range: the cap is reached long before
      else v_base * power(v_factor, least(v_steps, 60))
    end;
    v_delay := least(v_delay, v_cap);
    return make_interval(secs => v_delay * (1 + v_jitter * (2 * random() - 1)));
  end;
exception when data_exception then
  return penstock.backoff_delay('{}', p_attempt);
end
$$;
