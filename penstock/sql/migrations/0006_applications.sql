-- Migrations of applications that keep tables of their own in this database.
create table penstock.application_migrations (
  application text not null,
  number int not null,
  name text not null,
  applied_at timestamptz not null default now(),
  constraint application_migrations_pkey primary key (application, number)
);
