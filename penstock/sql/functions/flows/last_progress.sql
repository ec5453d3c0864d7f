-- The progress that a finished job keeps: not why it was tried again, if no later attempt had anything else to say.
create or replace function penstock.last_progress(p_progress jsonb)
returns jsonb
language sql immutable
as $$
  select case when right(p_progress->>'message', length(p_progress->>'reason')) = p_progress->>'reason'
              then p_progress - 'message' else p_progress end
    - '{attempt,reason}'::text[]
$$;
