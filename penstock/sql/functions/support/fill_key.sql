-- A key from a job's arguments: '{customer.id}' of {"customer": {"id": 7}} is 7. Null when an argument is not there.
create or replace function penstock.fill_key(p_template text, p_args jsonb)
returns text
language plpgsql immutable
as $$
declare
  c_name constant text := '\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}';
  v_between text[] := regexp_split_to_array(p_template, c_name);
  v_names text[] := array(select m[1] from regexp_matches(p_template, c_name, 'g') as m);
  v_key text := v_between[1];
begin
  for i in 1 .. cardinality(v_names) loop
    v_key := v_key || (p_args #>> string_to_array(v_names[i], '.')) || v_between[i + 1];
  end loop;
  return v_key;
end
$$;
