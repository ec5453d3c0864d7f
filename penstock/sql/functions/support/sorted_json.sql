-- A JSON document as text that is the same for the same document: keys by code point, at any depth, no spaces, numbers in
-- plain digits without zeros that say nothing. (jsonb sorts keys by their length first.) penstock/dedupe.py writes the same.
create or replace function penstock.sorted_json(p_value jsonb)
returns text
language plpgsql immutable
as $$
begin
  case jsonb_typeof(p_value)
    when 'object' then
      return '{' || coalesce((
        select string_agg(to_json(key)::text || ':' || penstock.sorted_json(value), ',' order by convert_to(key, 'utf8'))
          from jsonb_each(p_value)), '') || '}';
    when 'array' then
      return '[' || coalesce((
        select string_agg(penstock.sorted_json(value), ',' order by place)
          from jsonb_array_elements(p_value) with ordinality as element (value, place)), '') || ']';
    when 'number' then
      return trim_scale((p_value #>> '{}')::numeric)::text;
    else
      return p_value::text;
  end case;
end
$$;
