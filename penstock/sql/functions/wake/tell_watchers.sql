-- Tells whoever watches these jobs what they are now. The payload names the job and its state; a listener
-- that wants more looks it up, so a long progress message cannot pass NOTIFY's 8,000 bytes.
-- No state: it is gone without a record, having succeeded in a queue that keeps none of it.
create or replace function penstock.tell_watchers(p_ids uuid[])
returns void
language sql
as $$
  select pg_notify((select job from penstock.channels), json_build_object('id', told.id, 'state', (
           select j.state
             from penstock.all_jobs as j
            where j.id = told.id))::text)
    from unnest(p_ids) as told (id)
$$;
