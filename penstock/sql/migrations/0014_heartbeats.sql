-- Until when a lease lasts: the row with the highest number. Each heartbeat writes a new one and deletes the last, so that whoever
-- looks from the newest on meets no version that somebody's old snapshot keeps; the lease itself, which every claim looks up, is
-- never written again.
create table penstock.heartbeats (
  lease bigint not null constraint heartbeats_of_a_lease references penstock.leases (id) on delete cascade,
  number bigint not null default 1,
  expires_at timestamptz not null,
  constraint heartbeats_pkey primary key (lease, number)
);
insert into penstock.heartbeats (lease, expires_at) select id, expires_at from penstock.leases;
-- views name it, and those of applications may: it stays for a release, empty
alter table penstock.leases alter column expires_at drop not null;
alter table penstock.leases reset (fillfactor);
create view penstock.leases_now with (security_invoker = true) as
  select l.id, l.worker, l.host, l.pid, l.queues, l.kinds, l.length, l.started_at, coalesce((
           select h.expires_at from penstock.heartbeats as h where h.lease = l.id order by h.number desc limit 1
         ), '-infinity') as expires_at
    from penstock.leases as l;

-- The leader's row is written anew each time and read newest first, as heartbeats are.
alter table penstock.leader
  add column number bigint not null default 1,
  drop constraint there_is_one_leader,
  drop constraint leader_pkey,
  drop column only_row;
alter table penstock.leader
  alter column number drop default,
  add constraint leader_pkey primary key (number);
alter table penstock.leader reset (fillfactor);

-- asked in another way, or by nobody any more
drop function if exists penstock.lead(bigint);
drop function if exists penstock.first_ready(text, int, int, penstock.floors, text[], text);
