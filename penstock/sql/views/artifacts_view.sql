-- Every file that jobs or uploads have made, for applications to read and join. Stable as jobs_view is. Only what is `stored`
-- can be read; `writing` is on its way, `removing` is about to go.
create or replace view penstock.artifacts_view with (security_invoker = true) as
  select id, job, kind, owner, org, name, type, path, content_type, size, duration, digest, metadata, state, downloads,
         created_at, stored_at, expires_at
    from penstock.artifacts;
comment on view penstock.artifacts_view is
  'Every file of jobs and uploads. Stable: columns are only ever added.';
