-- Where events and those who wait for them meet: whoever emits one or comes to wait locks the row, so that neither misses the other.
-- A row of its own for each, because an open transaction of a caller must hold up nobody but those who wait for the same.
create table penstock.mailboxes (
  event text not null,
  key text not null,
  used_at timestamptz not null,
  constraint mailboxes_pkey primary key (event, key)
);

-- Events that nobody has waited for yet.
create table penstock.events (
  id uuid not null,
  event text not null,
  key text not null,
  payload jsonb,
  emitted_at timestamptz not null,
  expires_at timestamptz not null,
  constraint events_pkey primary key (id)
);
create index events_mailbox on penstock.events (event, key, id);
create index events_expired on penstock.events (expires_at);

-- Who waits for which. A row may outlive its job by a while: whoever meets it looks.
create table penstock.waits (
  job uuid not null,
  step text not null,
  event text not null,
  key text not null,
  since timestamptz not null,
  constraint waits_pkey primary key (job, step)
);
create index waits_mailbox on penstock.waits (event, key, since);
