-- A batch is a list of exports: those that were begun for it, and those that were under way already.
create table exports.batches (
  id uuid constraint batches_pkey primary key,
  user_id text not null default penstock.caller(),
  jobs uuid[] not null,
  idempotency_key text,
  asked text not null,
  created_at timestamptz not null default now(),
  constraint jobs_are_few check (cardinality(jobs) between 1 and 10)
);
comment on column exports.batches.id is 'Made from the ids of its jobs: the same exports are the same batch.';
comment on column exports.batches.asked is 'A digest of the request, by which a key that is used again is known to be.';
create index batches_key on exports.batches (user_id, idempotency_key) where idempotency_key is not null;
create index batches_created_at on exports.batches (created_at);

alter table exports.batches enable row level security;
create policy users_have_their_own on exports.batches
  using (user_id = (select penstock.caller()))
  with check (user_id = (select penstock.caller()));

do $$
begin
  if exists (select from pg_roles where rolname = 'authenticated') then
    grant select on exports.batches to authenticated;
    grant insert (id, jobs, idempotency_key, asked) on exports.batches to authenticated;
  end if;
  if exists (select from pg_roles where rolname = 'service_role') then
    grant all on exports.batches to service_role;
    create policy the_service_does_everything on exports.batches to service_role using (true) with check (true);
  end if;
end
$$;
