-- it takes more from here on
drop function if exists penstock.search_jobs(jsonb, uuid, int, int, int);
-- These walk from the oldest on, and what is under way came from the newest: to begin again repeats nothing.
update penstock.operations set cursor = null where state = 'running' and action in ('move', 'set_priority');
