create or replace function pgmq._validate_batch_params(msgs jsonb[], headers jsonb[])
returns void
language plpgsql immutable
as $$
begin
  if coalesce(cardinality(msgs), 0) = 0 then
    raise exception 'msgs cannot be NULL or empty';
  end if;
  if cardinality(headers) <> cardinality(msgs) then
    raise exception 'headers array length (%) must match msgs array length (%)', cardinality(headers), cardinality(msgs);
  end if;
end
$$;
