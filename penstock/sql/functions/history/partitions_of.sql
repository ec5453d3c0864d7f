-- The partitions of a table that is divided by ids, strays aside, and their bounds.
create or replace function penstock.partitions_of(p_table regclass)
returns table (name regclass, lowest uuid, past uuid)
language sql stable
as $$
  select c.oid::regclass, bounds[1]::uuid, bounds[2]::uuid
    from pg_inherits as i
    join pg_class as c on c.oid = i.inhrelid
   cross join regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\) TO \(''([^'']+)''\)') as bounds
   where i.inhparent = p_table and bounds is not null
$$;
