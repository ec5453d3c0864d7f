-- these take more than they did
drop function if exists penstock.bubble(uuid, text, numeric, text);
drop function if exists penstock.bubble_ended(penstock.jobs, jsonb, jsonb);
