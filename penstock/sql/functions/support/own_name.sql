-- A name of Penstock's own among those that applications choose, of events and steps. In two parts, for what begins like the
-- engine's schema is renamed with it.
create or replace function penstock.own_name(p_name text)
returns text
language sql immutable
return 'penstock' || '.' || p_name;
