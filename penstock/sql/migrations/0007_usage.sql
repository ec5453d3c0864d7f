-- What each organisation's jobs have used.
create table penstock.usage (
  day date not null,
  org text not null,
  kind text not null,
  runs bigint not null,
  seconds double precision not null,
  failures bigint not null,
  bytes bigint not null,
  constraint usage_pkey primary key (day, org, kind)
);

-- Usage is appended here and folded into `usage` by maintain(): two workers finishing jobs of one
-- organisation never wait for each other's commit.
create table penstock.usage_log (like penstock.usage);

create view penstock.usage_so_far with (security_invoker = true) as
  select day, org, kind, sum(runs)::bigint as runs, sum(seconds) as seconds,
         sum(failures)::bigint as failures, sum(bytes)::bigint as bytes
    from (select * from penstock.usage union all select * from penstock.usage_log) as counted
   group by day, org, kind;

create policy users_see_their_organisations on penstock.usage for select
  using (org = any((select penstock.caller_orgs())::text[]));
create policy users_see_their_organisations on penstock.usage_log for select
  using (org = any((select penstock.caller_orgs())::text[]));
