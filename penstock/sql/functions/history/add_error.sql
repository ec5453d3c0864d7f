-- A job keeps the error of every attempt; past a hundred the oldest but the first make room. p_number counts from 1.
create or replace function penstock.add_error(p_id uuid, p_number int, p_error jsonb)
returns void
language plpgsql
as $$
begin
  insert into penstock.errors (id, number, error) values (p_id, p_number, p_error);
  if p_number > 100 then
    delete from penstock.errors where id = p_id and number = p_number - 99;
  end if;
end
$$;
