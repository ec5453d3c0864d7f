-- Functions that have got another argument: beside the one before, a call that leaves it out would mean both.
drop function if exists pgmq.create_partitioned(text, text, text);
drop function if exists pgmq._due(pgmq.meta, int, jsonb);
