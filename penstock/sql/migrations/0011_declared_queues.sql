-- What applications have last said of their queues in code. The queues themselves hold what counts: the code changes them only
-- when it says something else than the last time, so that what an operator sets in between stays.
create table penstock.declared_queues (
  queue text constraint declared_queues_pkey primary key,
  settings jsonb not null
);
