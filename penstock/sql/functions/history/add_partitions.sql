-- Makes partitions for the days to come, of history and of what is kept beside jobs (payloads, errors). Attaching takes a
-- short lock that stops nobody who writes to the partitions in use, but it must wait for whoever reads the strays, and those who
-- come later wait behind it: when somebody reads at length (pg_dump, a report) it is left for the next time, of which there are
-- days. A range whose rows are among the strays already stays with them. Returns for how many ranges they were made.
-- With its owner's rights, as tables need: whoever may call it need not own them.
create or replace function penstock.add_partitions()
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'
as $$
declare
  v_now timestamptz := penstock.clock();
  v_settings penstock.settings;
  v_length interval;
  v_from timestamptz;
  v_lowest uuid;
  v_past uuid;
  v_day text;
  v_table text;
  v_made int := 0;
begin
  select * into v_settings from penstock.settings;
  v_length := v_settings.partition_length;
  v_from := date_bin(v_length, v_now, timestamptz '2024-01-01 00:00:00+00');
  for i in 0 .. v_settings.partitions_ahead loop
    v_day := to_char((v_from + i * v_length) at time zone 'utc', 'YYYYMMDD');
    v_lowest := penstock.uuid7_floor(v_from + i * v_length);
    v_past := penstock.uuid7_floor(v_from + (i + 1) * v_length);
    continue when to_regclass(format('penstock.%I', 'history_' || v_day)) is not null
      or exists (select from penstock.history_strays where id >= v_lowest and id < v_past)
      or exists (select from penstock.payloads_strays where id >= v_lowest and id < v_past)
      or exists (select from penstock.errors_strays where id >= v_lowest and id < v_past);
    begin
      foreach v_table in array '{history,payloads,errors}'::text[] loop
        execute format(
          'create table penstock.%I (like penstock.%I including defaults including constraints including compression including storage)',
          v_table || '_' || v_day, v_table);
        execute format('alter table penstock.%I enable row level security', v_table || '_' || v_day);
        execute format('alter table penstock.%I attach partition penstock.%I for values from (%L) to (%L)',
          v_table, v_table || '_' || v_day, v_lowest, v_past);
      end loop;
      v_made := v_made + 1;
    exception when lock_not_available then
      exit;
    when duplicate_table or invalid_object_definition then
      -- made by someone else in this instant, or overlapping after partition_length was changed: strays take those rows
      null;
    end;
  end loop;
  return v_made;
end
$$;
