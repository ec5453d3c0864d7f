-- Files that jobs produced. The bytes are in a store; a row here says what there is, whose it is and how far it got.
-- Row first, then the file, then the row is confirmed; to remove it: the row is marked, then the file goes, then the row.
-- So whatever is interrupted has left a row that a sweep finds.
create table penstock.artifacts (
  id uuid constraint artifacts_pkey primary key,
  job uuid not null,
  created_at timestamptz not null,
  stored_at timestamptz,
  expires_at timestamptz,
  lease bigint,
  size bigint,
  duration double precision,
  claims int,
  downloads int not null default 0,
  state text not null,
  owner text,
  org text,
  kind text not null,
  name text not null,
  type text,
  path text not null constraint artifacts_path unique,
  content_type text not null,
  digest text,
  quota text,
  metadata jsonb,
  constraint state_is_known check (state in ('writing', 'stored', 'removing')),
  constraint a_stored_one_has_a_size check (state <> 'stored' or (size is not null and digest is not null))
);

comment on column penstock.artifacts.lease is
  'Who writes or wrote it: with claims, the run of the job. A run that lost its job cannot confirm it.';
comment on column penstock.artifacts.digest is
  'SHA-256 of the bytes, in hexadecimal.';
comment on column penstock.artifacts.quota is
  'The quota that its bytes were announced under.';

create index artifacts_job on penstock.artifacts (job, id);
create index artifacts_owner on penstock.artifacts (owner, id) where owner is not null;
create index artifacts_org on penstock.artifacts (org, id) where org is not null;
create index artifacts_expires_at on penstock.artifacts (expires_at) where expires_at is not null;
create index artifacts_unsettled on penstock.artifacts (created_at) where state <> 'stored';

alter table penstock.artifacts enable row level security;
create policy users_see_their_own on penstock.artifacts for select
  using (state = 'stored' and (owner = (select penstock.caller()) or org = any((select penstock.caller_orgs())::text[])));
