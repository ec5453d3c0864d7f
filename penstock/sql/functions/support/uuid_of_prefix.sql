-- The first or the last id that begins like this, filled up with 0 or f; with or without dashes.
create or replace function penstock.uuid_of_prefix(p_prefix text, p_digit text)
returns uuid
language plpgsql immutable strict parallel safe
as $$
begin
  if replace(p_prefix, '-', '') !~* '^[0-9a-f]{1,32}$' then
    raise exception 'id: must be the beginning of an id, not %', left(p_prefix, 60) using errcode = 'PS001';
  end if;
  return rpad(replace(p_prefix, '-', ''), 32, p_digit)::uuid;
end
$$;
