create or replace function pgmq._job_id(p_beginning text, p_msg_id bigint)
returns uuid
language sql immutable parallel safe
return (p_beginning || lpad(to_hex(p_msg_id), 10, '0'))::uuid;
