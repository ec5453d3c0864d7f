alter table calls.calls add column sha256 text;
comment on column calls.calls.sha256 is 'Of the recording, by which a key that is used again is known to be.';
