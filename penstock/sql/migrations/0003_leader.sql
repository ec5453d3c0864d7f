-- Which worker does what happens now and then, so that any number of them costs no more than one. A table, not a
-- session's lock: it works behind a transaction pooler too.
create table penstock.leader (
  only_row boolean not null default true constraint leader_pkey primary key,
  lease bigint not null,
  until timestamptz not null,
  constraint there_is_one_leader check (only_row)
) with (fillfactor = 50);
insert into penstock.leader (lease, until) values (0, '-infinity');

-- Whether an enqueue may hand a job straight to the worker, which then need not claim it.
alter table penstock.waiting add column direct boolean not null default false;

-- these take or return more than they did
drop function if exists penstock.enqueue_plain(
  uuid, text, jsonb, text, int, int, timestamptz, double precision, int, text, text, text, jsonb);
drop function if exists penstock.extend_lease(bigint);
drop function if exists penstock.release_unknown(bigint, uuid[]);
drop function if exists penstock.wait_for_work(bigint, text[], int);
drop function if exists penstock.stop_waiting(bigint);
