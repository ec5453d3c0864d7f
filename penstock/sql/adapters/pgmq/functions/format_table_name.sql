create or replace function pgmq.format_table_name(queue_name text, prefix text)
returns text
language plpgsql immutable
as $$
begin
  if queue_name ~ '\$|;|--|''' then
    raise exception 'queue name contains invalid characters: $, ;, --, or \''';
  end if;
  return lower(prefix || '_' || queue_name);
end
$$;
