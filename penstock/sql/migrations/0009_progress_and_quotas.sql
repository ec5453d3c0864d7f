-- these take more than they did
drop function if exists penstock.bubble(uuid, text, numeric, text);
drop function if exists penstock.bubble_ended(penstock.jobs, jsonb, jsonb);
drop function if exists penstock.pick_limited(penstock.queues, int, text[], text, timestamptz);

-- The quota that a job of an owner counts against. Jobs under a quota wait in indexes of their own: a claim of others steps
-- over none of them, and one owner's backlog is one entry of the second.
alter table penstock.jobs add column quota text;
alter table penstock.history add column quota text;
comment on column penstock.jobs.quota is
  'The quota of its owner that it counts against while it runs; null without an owner, and where its starter chose so.';
drop index penstock.jobs_ready;
drop index penstock.jobs_ready_by_key;
create index jobs_ready on penstock.jobs (queue, priority, turn, id) where state = 'ready' and quota is null;
create index jobs_ready_by_key on penstock.jobs (queue, limit_key, priority, turn, id)
  where state = 'ready' and quota is null and limit_key is not null;
create index jobs_ready_quota on penstock.jobs (queue, priority, turn, id) where state = 'ready' and quota is not null;
create index jobs_ready_by_owner on penstock.jobs (queue, quota, owner, priority, turn, id)
  where state = 'ready' and quota is not null;
create index jobs_running_quota on penstock.jobs (quota, owner) where state = 'running' and quota is not null;

-- The quota that a file's bytes were announced under.
alter table penstock.artifacts add column quota text;
drop function if exists penstock.announce_artifact(
  bigint, uuid, int, text, text, text, uuid, text, text, text, text, double precision, jsonb, interval, boolean);
drop function if exists penstock.begin_artifact(
  bigint, uuid, int, uuid, text, text, text, text, double precision, jsonb, interval, boolean);
drop function if exists penstock.abandon_upload(bigint, text);
