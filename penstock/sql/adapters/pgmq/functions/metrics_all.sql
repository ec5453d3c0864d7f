create or replace function pgmq.metrics_all()
returns setof pgmq.metrics_result
language plpgsql
as $$
begin
  return query select m.* from pgmq.meta as q, pgmq.metrics(q.queue_name) as m order by q.number;
end
$$;
