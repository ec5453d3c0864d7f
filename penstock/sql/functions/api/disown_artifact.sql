-- For a run that wrote a file and then was refused: if nobody else has announced the path, the file is announced as one to
-- be removed. Returns whether it is the caller's to remove.
create or replace function penstock.disown_artifact(p_id uuid, p_job uuid, p_kind text, p_name text, p_path text)
returns boolean
language plpgsql
as $$
begin
  insert into penstock.artifacts (id, job, kind, name, path, content_type, state, created_at)
  values (p_id, p_job, p_kind, p_name, p_path, 'application/octet-stream', 'removing', penstock.clock())
      on conflict do nothing;
  return found;
end
$$;
