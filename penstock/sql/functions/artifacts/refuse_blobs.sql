-- Refuses arguments that carry a file: a long text that is base64 or a data: URI. Called only for large arguments.
create or replace function penstock.refuse_blobs(p_args jsonb)
returns void
language plpgsql
as $$
declare
  v_size int;
begin
  select length(value #>> '{}')
    into v_size
    from jsonb_path_query(p_args, '$.** ? (@.type() == "string")') as value
   where length(value #>> '{}') > 16384
     and value #>> '{}' ~ '^(data:[[:alnum:].+/-]*[;,]|[A-Za-z0-9+/_=[:space:]-]*$)'
   limit 1;
  if found then
    raise exception 'args: has what looks like an encoded file of % characters; store the bytes as an artifact and pass its path',
      v_size using errcode = 'PS003';
  end if;
end
$$;
