-- Tells whoever waits for an event: the one who has waited longest, or, when there is nobody, the first to come within p_keep.
-- Each event goes to one job. Part of the caller's transaction. Returns the job that received it, null when it is kept. With p_hand
-- the job may be handed straight to an idle worker, which saves the claim: not for a transaction that goes on.
create or replace function penstock.emit(
  p_event text, p_key text default '', p_payload jsonb default null, p_keep interval default '7 days',
  p_hand boolean default false
)
returns uuid
language plpgsql
as $$
begin
  if starts_with(p_event, penstock.own_name('')) then
    raise exception 'event: % is one of Penstock''s own; an approval is answered by approve()', p_event using errcode = 'PS001';
  end if;
  return penstock.deliver(p_event, p_key, p_payload, p_keep, p_hand);
end
$$;
