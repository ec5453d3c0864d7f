-- Résumés, and what has been made of them. Everybody sees their own: user_id is the subject of their token.
set local search_path = pg_catalog, pg_temp;
create schema exports;

create table exports.documents (
  id uuid constraint documents_pkey primary key default gen_random_uuid(),
  user_id text not null default penstock.caller(),
  title text not null,
  data jsonb not null,
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint title_is_not_empty check (title <> '' and length(title) <= 500)
);
create index documents_user on exports.documents (user_id, created_at desc, id);

create table exports.export_history (
  id uuid constraint export_history_pkey primary key default gen_random_uuid(),
  user_id text not null,
  document_id uuid constraint export_history_document references exports.documents on delete set null,
  document_version int not null,
  format text not null default 'pdf',
  template_slug text not null,
  file_name text not null,
  file_path text not null,
  file_size bigint not null,
  page_count int not null,
  download_count int not null default 0,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  job_id uuid not null,
  artifact_id uuid not null,
  constraint format_is_known check (format in ('pdf'))
);
comment on column exports.export_history.expires_at is '7 days after it was made; then the file goes, and this row.';
-- not unique, though there is one: a run that froze before its end would keep the next one waiting for it to commit or not
comment on column exports.export_history.job_id is 'The job that made it, and completed in the same transaction.';
comment on column exports.export_history.artifact_id is 'The file, as penstock.artifacts_view has it.';
create index export_history_user on exports.export_history (user_id, created_at desc, id);
create index export_history_document on exports.export_history (document_id);
create index export_history_artifact on exports.export_history (artifact_id);
create index export_history_expires_at on exports.export_history (expires_at);

alter table exports.documents enable row level security;
alter table exports.export_history enable row level security;
create policy users_have_their_own on exports.documents
  using (user_id = (select penstock.caller()))
  with check (user_id = (select penstock.caller()));
create policy users_see_their_own on exports.export_history for select
  using (user_id = (select penstock.caller()));
create policy users_delete_their_own on exports.export_history for delete
  using (user_id = (select penstock.caller()));

-- Users may count downloads of what they see, and change nothing else about it.
create function exports.count_download(p_id uuid)
returns void
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  update exports.export_history
     set download_count = download_count + 1
   where id = p_id
     and (user_id = penstock.caller() or current_setting('role') = 'service_role')
$$;
revoke all on function exports.count_download from public;

-- Files of exports that ended before they were recorded: whoever was to do both was killed or cancelled in between.
create view exports.unrecorded with (security_invoker = true) as
  select a.id
    from penstock.artifacts_view as a
   where a.kind = 'export_pdf'
     and a.state = 'stored'
     and not exists (select from exports.export_history as h where h.artifact_id = a.id)
     and not exists (select from penstock.live_jobs_view as j where j.id = a.job);

do $$
begin
  if exists (select from pg_roles where rolname = 'authenticated') then
    grant usage on schema exports to authenticated;
    grant select, delete on exports.documents to authenticated;
    grant insert (title, data), update (title, data) on exports.documents to authenticated;
    grant select, delete on exports.export_history to authenticated;
    grant execute on function exports.count_download to authenticated;
  end if;
  if exists (select from pg_roles where rolname = 'service_role') then
    grant usage on schema exports to service_role;
    grant all on all tables in schema exports to service_role;
    grant execute on all functions in schema exports to service_role;
    create policy the_service_does_everything on exports.documents to service_role using (true) with check (true);
    create policy the_service_does_everything on exports.export_history to service_role using (true) with check (true);
  end if;
end
$$;

-- Each change is another version, whoever makes it and however.
create function exports.count_version()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.version := old.version + 1;
  new.updated_at := now();
  return new;
end
$$;
create trigger documents_version before update on exports.documents
  for each row when (old.title is distinct from new.title or old.data is distinct from new.data)
  execute function exports.count_version();

-- Three at once, whoever they belong to; and nobody's batch keeps all others waiting.
select penstock.set_queue('exports', '{"max_running": 3, "fair_by": "owner"}');
