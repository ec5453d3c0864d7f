-- What the job keeps of a message beside its arguments: the headers, and whether it was no object.
create or replace function pgmq._options(p_message jsonb, p_headers jsonb)
returns jsonb
language sql immutable parallel safe
return case
  when jsonb_typeof(p_message) = 'object' then case when p_headers is not null then jsonb_build_object('headers', p_headers) end
  when p_headers is not null then jsonb_build_object('bare', true, 'headers', p_headers)
  else '{"bare": true}'
end;
