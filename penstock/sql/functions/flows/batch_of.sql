-- The job that a batch of these jobs is: it does nothing itself. Its arguments tell one batch from another, for
-- idempotency keys.
create or replace function penstock.batch_of(p_id uuid, p_jobs jsonb)
returns jsonb
language sql immutable
as $$
  select jsonb_build_object(
    'id', p_id, 'kind', 'batch',
    'args', jsonb_build_object('jobs', jsonb_array_length(p_jobs),
                               'digest', encode(sha256(convert_to(p_jobs::text, 'utf8')), 'hex')),
    'rollup', jsonb_build_object(
      'policy', 'continue', 'hollow', true, 'total', jsonb_array_length(p_jobs), 'succeeded', 0, 'failed', 0,
      'cancelled', 0, 'start', 0, 'phases', jsonb_build_array(jsonb_build_object(
        'name', '', 'span', 100, 'weight', jsonb_array_length(p_jobs), 'done', 0))))
$$;
