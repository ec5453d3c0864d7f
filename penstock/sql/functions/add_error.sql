-- A job keeps the error of every attempt; past a hundred the oldest but the first make room.
create or replace function penstock.add_error(p_errors jsonb, p_error jsonb)
returns jsonb
language sql immutable
return case
  when p_error is null then p_errors
  when jsonb_array_length(coalesce(p_errors, '[]')) < 100 then coalesce(p_errors, '[]') || jsonb_build_array(p_error)
  else (p_errors - 1) || jsonb_build_array(p_error)
end;
