-- The user on whose behalf this transaction runs, by the claims of their token; null for nobody. Only text names a user: a
-- number or an object is nobody.
create or replace function penstock.caller()
returns text
language sql stable
return jsonb_path_query_first(nullif(current_setting('request.jwt.claims', true), '')::jsonb,
                              'strict $.sub ? (@.type() == "string" && @ != "")', '{}', true) #>> '{}';
