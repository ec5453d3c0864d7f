-- A message as the arguments of a job, which are an object: any other value is the argument `message`.
create or replace function pgmq._args(p_message jsonb)
returns jsonb
language sql immutable parallel safe
return case
  when jsonb_typeof(p_message) = 'object' then p_message
  when p_message is null then '{}'
  else jsonb_build_object('message', p_message)
end;
