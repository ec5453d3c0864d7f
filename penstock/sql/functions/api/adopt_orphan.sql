-- Announces the removal of a file that no artifact names, so that it goes the way all files go. Null when one does by now.
create or replace function penstock.adopt_orphan(p_path text)
returns uuid
language sql
as $$
  insert into penstock.artifacts (id, job, kind, name, path, content_type, state, created_at)
  values (penstock.uuid7(), '00000000-0000-0000-0000-000000000000', '', '', p_path, 'application/octet-stream', 'removing',
          penstock.clock())
      on conflict do nothing
  returning id
$$;
