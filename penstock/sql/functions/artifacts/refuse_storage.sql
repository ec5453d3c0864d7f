-- A user's artifacts take as much space as they may.
create or replace function penstock.refuse_storage(p_used bigint, p_storage bigint)
returns void
language plpgsql
as $$
begin
  raise exception 'storage: % of % bytes are used; delete what you no longer need', p_used, p_storage
    using errcode = 'PS013', detail = jsonb_build_object('used', p_used, 'limit', p_storage)::text;
end
$$;
