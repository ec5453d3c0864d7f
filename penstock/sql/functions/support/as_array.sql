-- A JSON string or array of strings as text[]: filters take one value or several.
create or replace function penstock.as_array(p_value jsonb)
returns text[]
language sql immutable parallel safe
return case jsonb_typeof(p_value)
  when 'array' then array(select jsonb_array_elements_text(p_value))
  else array[p_value #>> '{}']
end;
