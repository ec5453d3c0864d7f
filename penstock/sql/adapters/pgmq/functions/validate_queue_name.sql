create or replace function pgmq.validate_queue_name(queue_name text)
returns void
language plpgsql
as $$
begin
  if length(queue_name) >= 48 then
    raise exception 'queue name is too long, maximum length is 48 characters';
  end if;
end
$$;
