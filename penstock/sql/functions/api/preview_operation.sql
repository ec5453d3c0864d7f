-- How many jobs an operation would be about: counted no further than ten thousand, nor for longer than a page takes.
create or replace function penstock.preview_operation(p_action text, p_filter jsonb)
returns table (jobs int, exact boolean)
language sql stable
as $$
  select cardinality(found.ids), found.next is null
    from penstock.search_jobs(
      penstock.operation_filter(p_action, p_filter, penstock.clock()), p_limit => 10000, p_most => 40000) as found
$$;
