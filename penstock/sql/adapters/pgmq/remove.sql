-- The messages stay as what they are, jobs.
drop schema pgmq_public cascade;
drop schema pgmq cascade;
