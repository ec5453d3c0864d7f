-- Finds out what is settled, and returns it: every turn in line up to `settled_turn` is visible by now or never will be, and so is
-- whatever was started or scheduled before `settled_at`, and who waits with a number up to `settled_waiting`. Floors can be raised so far: see raise_floor() and raise_time_floor().
--
-- Turns are given in order, and a transaction has its number before it takes one (next_turn) or reads the time, but commits come
-- late. So a round notes the last turn given and the time, and then its own transaction's number (`horizon`); when a later
-- round sees that all transactions before that one have ended, what was noted is settled.
--
-- A clock that goes back (it was set right; a replica took over) makes all times that were noted worthless.
--
-- Whoever comes while another is at it leaves it to them.
create or replace function penstock.raise_horizon()
returns penstock.horizons
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  -- read before this transaction has a number, if that is still to come: xmax of a snapshot is only past what has ended
  v_has_number boolean := pg_current_xact_id_if_assigned() is not null;
  v_turn bigint := (select case when is_called then last_value else last_value - 1 end from penstock.turn_numbers);
  v_waiting bigint := (select case when is_called then last_value else last_value - 1 end from penstock.waiting_numbers);
  v_now timestamptz := penstock.clock();
  v_number bigint := nextval('penstock.floor_numbers');
  v_found boolean;
  v_row penstock.horizons;
begin
  -- in any other isolation the snapshot is an old one itself
  if current_setting('transaction_isolation') = 'read committed' then
    select * into v_row from penstock.horizons order by number desc limit 1 for update skip locked;
    v_found := found;
    if v_found or not exists (select from penstock.horizons) then
      if greatest(v_row.noted_at, v_row.settled_at) > v_now then
        v_row.settled_at := null;
        v_row.horizon := null;
      end if;
      if penstock.has_ended(v_row.horizon, v_row.noted_at) then
        v_row.settled := v_row.noted;
        v_row.settled_turn := v_row.noted_turn;
        v_row.settled_at := v_row.noted_at;
        v_row.settled_waiting := v_row.noted_waiting;
        v_row.horizon := null;
      end if;
      if v_row.horizon is null and not v_has_number then
        v_row.noted := v_number;
        v_row.noted_turn := v_turn;
        v_row.noted_at := v_now;
        v_row.noted_waiting := v_waiting;
        v_row.horizon := pg_current_xact_id();
      end if;
      delete from penstock.horizons where number = v_row.number;
      v_row.number := nextval('penstock.floor_numbers');
      v_row.raised_at := v_now;
      insert into penstock.horizons select v_row.*;
      return v_row;
    end if;
  end if;
  select * into v_row from penstock.horizons order by number desc limit 1;
  return v_row;
end
$$;
