-- it tells which jobs it finished from here on
drop function if exists penstock.finish(uuid[], penstock.job_state, jsonb, jsonb);
