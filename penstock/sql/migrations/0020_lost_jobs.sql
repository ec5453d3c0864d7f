-- Jobs that were given up because their worker was lost with the last attempt, until somebody who can tell of it has taken them:
-- whoever gives them back may be pg_cron, a supervisor or another application's tick. Seldom written, and empty but for a second.
create table penstock.lost_jobs (
  number bigint generated always as identity,
  job uuid not null,
  at timestamptz not null,
  constraint lost_jobs_pkey primary key (number)
);

-- it tells more from here on
drop function if exists penstock.tend(bigint);
