-- it takes more from here on
drop function if exists penstock.emit(text, text, jsonb, interval);
