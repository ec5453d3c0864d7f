-- Whether a job's arguments are kept beside it, in payloads, which refuses null. COPY decides by the length of their text
-- (engine/postgres/copy.py).
create or replace function penstock.is_large(p_args jsonb)
returns boolean
language sql immutable
return p_args is null or pg_column_size(p_args) > 512;
