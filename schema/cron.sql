-- When a schedule fires: dogged.compile_spec(spec) reads a spec, dogged.next_tick(compiled, time_zone, after) gives its next
-- time. SQL, workers and the command line all ask here, so that no two of them can disagree, whatever time zone data a
-- machine has. docs/schedules.md is the reference of specs. tests/postgres/schema/cron_test.cpp compares this with another
-- implementation.
--
-- A set of numbers is a bigint with one bit for each number.

create or replace function dogged.first_of(numbers bigint, lowest integer) returns integer
language sql immutable parallel safe return
  case when lowest < 63 and numbers >> lowest <> 0
       then lowest + round(ln(((numbers >> lowest) & -(numbers >> lowest))::float8) / ln(2::float8))::integer end;
comment on function dogged.first_of(bigint, integer) is
  'Internal: the first number of a set that is not below `lowest`; null if there is none.';

create or replace function dogged.refuse_spec(spec text, mistake text, remedy text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'the spec "%": %', left(refuse_spec.spec, 100), refuse_spec.mistake
    using errcode = 'invalid_parameter_value', hint = refuse_spec.remedy;
end $$;
comment on function dogged.refuse_spec(text, text, text) is 'Internal: raises the error that says what is wrong with a spec.';

create or replace function dogged.cron_number(spec text, field text, value text, lowest integer, most integer, names text)
returns integer
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  named constant integer := array_position(string_to_array(cron_number.names, ' '), upper(cron_number.value));
begin
  if named is not null then return named + case when cron_number.field = 'month' then 0 else -1 end; end if;
  if cron_number.value !~ '^[0-9]{1,4}$' then
    perform dogged.refuse_spec(
      spec, format('its %s field has "%s", which is not a number', field, left(cron_number.value, 30)),
      case when cron_number.value like '%?%' then 'Write * for any value.'
           else format('Write numbers from %s to %s%s, ranges as %s-%s, lists as %s,%s, steps as */2, or *.%s', lowest, most,
                       case when names <> '' then ', or ' || names else '' end, lowest, lowest + 1, lowest, lowest + 1,
                       case field when 'day-of-month' then ' L is the last day; there are no days before it (L-3) and no nearest weekdays (15W).'
                                  when 'day-of-week' then ' 5L is the last Friday of the month, 5#2 the second.' else '' end) end);
  elsif cron_number.value::integer not between lowest and most then
    perform dogged.refuse_spec(spec, format('its %s field has %s, which is not from %s to %s', field, cron_number.value, lowest, most),
                               format('Give a number from %s to %s.', lowest, most));
  end if;
  return cron_number.value::integer;
end $$;
comment on function dogged.cron_number(text, text, text, integer, integer, text) is
  'Internal: the number or the name that an element of a field gives.';

-- One element of a list: *, 5, 1-5, */2, 1-30/2. Gives its numbers.
create or replace function dogged.cron_element(spec text, field text, element text, lowest integer, most integer, names text)
returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  parts constant text[] := string_to_array(cron_element.element, '/');
  bounds constant text[] := case when parts[1] <> '' then string_to_array(parts[1], '-') else '{""}' end;
  from_number integer := lowest;
  to_number integer := most;
  step integer := 1;
  numbers bigint := 0;
begin
  if cardinality(parts) > 2 or cardinality(bounds) > 2 then
    perform dogged.refuse_spec(spec, format('its %s field has "%s"', field, left(element, 30)), 'Write a range as 1-5 and its step as 1-30/2.');
  end if;
  if parts[1] is distinct from '*' then
    from_number := dogged.cron_number(spec, field, bounds[1], lowest, most, names);
    to_number := case when cardinality(bounds) = 2 then dogged.cron_number(spec, field, bounds[2], lowest, most, names)
                      else from_number end;
    if to_number < from_number then
      perform dogged.refuse_spec(
        spec, format('its %s field has the range "%s", which ends before it begins', field, parts[1]),
        format('Write it as two: %s-%s,%s-%s.', from_number, most, lowest, to_number));
    end if;
  end if;
  if cardinality(parts) = 2 then
    if parts[2] !~ '^[0-9]{1,4}$' or parts[2]::integer not between 1 and most - lowest + 1 then
      perform dogged.refuse_spec(
        spec, format('its %s field has the step "%s", which is not from 1 to %s', field, left(parts[2], 30), most - lowest + 1),
        'Give a step that the field has room for, as in */2.');
    elsif parts[1] <> '*' and cardinality(bounds) = 1 then
      perform dogged.refuse_spec(spec, format('its %s field has "%s", a step without a range', field, element),
                                 format('Write %s-%s/%s.', from_number, most, parts[2]));
    end if;
    step := parts[2];
  end if;
  for number in from_number .. to_number by step loop
    numbers := numbers | (1::bigint << number);
  end loop;
  return numbers;
end $$;
comment on function dogged.cron_element(text, text, text, integer, integer, text) is
  'Internal: the numbers of one element of a field''s list.';

create or replace function dogged.cron_field(spec text, field text, list text, lowest integer, most integer, names text default '')
returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  element text;
  numbers bigint := 0;
begin
  foreach element in array string_to_array(list, ',') loop
    numbers := numbers | dogged.cron_element(spec, field, element, lowest, most, names);
  end loop;
  return numbers;
end $$;
comment on function dogged.cron_field(text, text, text, integer, integer, text) is 'Internal: the numbers of a field of a spec.';

create or replace function dogged.cron_days(spec text, list text) returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  element text;
  days bigint := 0;
begin
  foreach element in array string_to_array(list, ',') loop
    days := days | case when upper(element) = 'L' then 1 else dogged.cron_element(spec, 'day-of-month', element, 1, 31, '') end;
  end loop;
  return days;
end $$;
comment on function dogged.cron_days(text, text) is 'Internal: the days of the month of a spec; 0 stands for L, the last day.';

-- 8 · k + d: weekday d (0: Sunday) in any week (k = 0), the k-th of its month (1 to 5), or the last (6).
create or replace function dogged.cron_weekdays(spec text, list text) returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  names constant text := 'SUN MON TUE WED THU FRI SAT';
  element text;
  parts text[];
  weekdays bigint := 0;
begin
  foreach element in array string_to_array(list, ',') loop
    parts := regexp_match(element, '^([0-9]{1,4}|[A-Za-z]{3})(?:#(.*)|[Ll])$');
    if parts is null then
      weekdays := weekdays | dogged.cron_element(spec, 'day-of-week', element, 0, 7, names);
      weekdays := (weekdays | ((weekdays >> 7) & 1)) & ~128::bigint;  -- 7 is Sunday too
    elsif parts[2] is not null and parts[2] !~ '^[1-5]$' then
      perform dogged.refuse_spec(spec, format('its day-of-week field has "%s", and a month has the 1st to the 5th of a weekday', left(element, 30)),
                                 'Write 5#2 for the second Friday of the month, 5L for the last.');
    else
      weekdays := weekdays | (1::bigint << (8 * coalesce(parts[2]::integer, 6)
                                            + dogged.cron_number(spec, 'day-of-week', parts[1], 0, 7, names) % 7));
    end if;
  end loop;
  return weekdays;
end $$;
comment on function dogged.cron_weekdays(text, text) is 'Internal: the weekdays of a spec.';

-- every 90s, every 1h30m, every 1d
create or replace function dogged.compile_every(spec text, duration text) returns dogged.compiled_spec
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  compiled dogged.compiled_spec;
  parts constant text[] := regexp_match(compile_every.duration, '^(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?$');
begin
  compiled.every_seconds := coalesce(parts[1]::bigint, 0) * 86400 + coalesce(parts[2]::bigint, 0) * 3600
                            + coalesce(parts[3]::bigint, 0) * 60 + coalesce(parts[4]::bigint, 0);
  if parts is null or compiled.every_seconds not between 1 and 366 * 86400 then
    perform dogged.refuse_spec(spec, format('"%s" is not a duration from 1s to 366d', left(compile_every.duration, 30)),
                               'Write every 90s, every 15m, every 1h30m or every 7d.');
  end if;
  return compiled;
end $$;
comment on function dogged.compile_every(text, text) is 'Internal: compiles a spec that begins with `every`.';

create or replace function dogged.compile_spec(spec text) returns dogged.compiled_spec
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  compiled dogged.compiled_spec;
  written constant text := regexp_replace(btrim(compile_spec.spec), '\s+', ' ', 'g');
  fields text[];
begin
  if coalesce(written, '') = '' or octet_length(compile_spec.spec) > 256 then
    raise exception 'a schedule''s spec is %', case when compile_spec.spec is null then 'null' when written = '' then 'empty'
                                                    else format('%s bytes long; the limit is 256', octet_length(compile_spec.spec)) end
      using errcode = 'invalid_parameter_value', hint = 'Write a spec such as 0 3 * * *, @daily or every 90s.';
  elsif written ~* '^every( |$)' then
    return dogged.compile_every(spec, replace(lower(substr(written, 7)), ' ', ''));
  end if;
  fields := string_to_array(case lower(written) when '@yearly' then '0 0 1 1 *' when '@annually' then '0 0 1 1 *'
                                                when '@monthly' then '0 0 1 * *' when '@weekly' then '0 0 * * 0'
                                                when '@daily' then '0 0 * * *' when '@midnight' then '0 0 * * *'
                                                when '@hourly' then '0 * * * *' else written end, ' ');
  if fields[1] like '@%' then
    perform dogged.refuse_spec(spec, 'this name is not known', 'There are @hourly, @daily, @weekly, @monthly and @yearly.');
  elsif cardinality(fields) not in (5, 6) then
    perform dogged.refuse_spec(spec, format('it has %s field%s, not 5 or 6', cardinality(fields), case when cardinality(fields) > 1 then 's' else '' end),
                               'Write minute, hour, day of month, month and day of week; with six, the second comes first.');
  end if;
  if cardinality(fields) = 5 then fields := array_prepend('0', fields); end if;
  compiled.seconds := dogged.cron_field(spec, 'second', fields[1], 0, 59);
  compiled.minutes := dogged.cron_field(spec, 'minute', fields[2], 0, 59);
  compiled.hours := dogged.cron_field(spec, 'hour', fields[3], 0, 23);
  compiled.days := dogged.cron_days(spec, fields[4]);
  compiled.months := dogged.cron_field(spec, 'month', fields[5], 1, 12, 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC');
  compiled.weekdays := dogged.cron_weekdays(spec, fields[6]);
  compiled.is_either_day := left(fields[4], 1) <> '*' and left(fields[6], 1) <> '*';
  compiled.is_by_elapsed_time := left(fields[3], 1) = '*';
  return compiled;
end $$;
comment on function dogged.compile_spec(text) is
  'What a spec means, for dogged.next_tick: cron with five or six fields, @daily and its like, or every 90s. An error names the field, the '
  'value and the range.';

create or replace function dogged.fits_day(compiled dogged.compiled_spec, year integer, month integer, day integer, days_of_month integer)
returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  is_of_days constant boolean := (compiled.days >> day) & 1 = 1 or (compiled.days & 1 = 1 and day = days_of_month);
  weekday integer;
  is_of_weekdays boolean;
begin
  if not is_of_days and not compiled.is_either_day then return false; end if;
  weekday := extract(dow from make_date(year, month, day));
  is_of_weekdays := (compiled.weekdays >> weekday) & 1 = 1 or (compiled.weekdays >> (8 * ((day + 6) / 7) + weekday)) & 1 = 1
                    or (day > days_of_month - 7 and (compiled.weekdays >> (48 + weekday)) & 1 = 1);
  return case when compiled.is_either_day then is_of_days or is_of_weekdays else is_of_weekdays end;
end $$;
comment on function dogged.fits_day(dogged.compiled_spec, integer, integer, integer, integer) is
  'Internal: whether a spec has times on this day of one of its months.';

create or replace function dogged.next_time_of_day(compiled dogged.compiled_spec, lowest integer) returns integer
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  hour constant integer := lowest / 3600;
  minute constant integer := lowest / 60 % 60;
  found_hour integer := dogged.first_of(compiled.hours, hour);
  found_minute integer;
  found_second integer;
begin
  if found_hour = hour then
    found_minute := dogged.first_of(compiled.minutes, minute);
    if found_minute = minute then
      found_second := dogged.first_of(compiled.seconds, lowest % 60);
      if found_second is not null then return hour * 3600 + minute * 60 + found_second; end if;
      found_minute := dogged.first_of(compiled.minutes, minute + 1);
    end if;
    if found_minute is not null then return hour * 3600 + found_minute * 60 + dogged.first_of(compiled.seconds, 0); end if;
    found_hour := dogged.first_of(compiled.hours, hour + 1);
  end if;
  return found_hour * 3600 + dogged.first_of(compiled.minutes, 0) * 60 + dogged.first_of(compiled.seconds, 0);
end $$;
comment on function dogged.next_time_of_day(dogged.compiled_spec, integer) is
  'Internal: the first second of the day, not before `lowest`, that a spec has; null if there is none.';

-- A calendar without time zones. The weekdays of a leap year come again after 40 years at most (1880 to 1920).
create or replace function dogged.next_local_time(compiled dogged.compiled_spec, after timestamp) returns timestamp
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  lowest constant timestamp := date_trunc('second', after) + interval '1 second';
  year integer := extract(year from lowest);
  month integer := extract(month from lowest);
  day integer := extract(day from lowest);
  time_of_day integer := extract(epoch from lowest::time);
  last_year constant integer := year + 41;
  days_of_month integer;
  found_time integer;
begin
  loop
    if (compiled.months >> month) & 1 = 1 then
      days_of_month := extract(day from make_date(year, month, 1) + interval '1 month' - interval '1 day');
      while day <= days_of_month loop
        if dogged.fits_day(compiled, year, month, day, days_of_month) then
          found_time := dogged.next_time_of_day(compiled, time_of_day);
          if found_time is not null then return make_date(year, month, day) + found_time * interval '1 second'; end if;
        end if;
        day := day + 1;
        time_of_day := 0;
      end loop;
    end if;
    month := month % 12 + 1;
    year := year + (month = 1)::integer;
    day := 1;
    time_of_day := 0;
    if year > last_year then return null; end if;
  end loop;
end $$;
comment on function dogged.next_local_time(dogged.compiled_spec, timestamp) is
  'Internal: the first local time after `after` that a spec has; null if it has none in 41 years.';

create or replace function dogged.offset_at(moment timestamptz, time_zone text) returns interval
language sql stable return (moment at time zone time_zone) - (moment at time zone 'UTC');
comment on function dogged.offset_at(timestamptz, text) is 'Internal: how far local time was ahead of UTC.';

-- Time zones change at whole seconds.
create or replace function dogged.change_of_offset(before timestamptz, until timestamptz, time_zone text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  offset_before constant interval := dogged.offset_at(before, time_zone);
  earliest bigint := floor(extract(epoch from before));
  latest bigint := ceil(extract(epoch from until));
  middle bigint;
begin
  while latest - earliest > 1 loop
    middle := (earliest + latest) / 2;
    if dogged.offset_at(to_timestamp(middle), time_zone) = offset_before then earliest := middle; else latest := middle; end if;
  end loop;
  return to_timestamp(latest);
end $$;
comment on function dogged.change_of_offset(timestamptz, timestamptz, text) is
  'Internal: when the clock was changed between two moments of different offsets.';

-- PostgreSQL alone takes a local time that exists twice as the later, and one that does not exist as some other time.
create or replace function dogged.first_instant_of(local timestamp, time_zone text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  instant constant timestamptz := local at time zone time_zone;
  earlier constant timestamptz := (local - dogged.offset_at(instant - interval '1 day', time_zone)) at time zone 'UTC';
  before timestamptz;
begin
  if instant at time zone time_zone = local then
    return case when earlier < instant and earlier at time zone time_zone = local then earlier else instant end;
  end if;
  before := (local at time zone 'UTC') - interval '40 hours';  -- no zone is as far from UTC, with a day left out
  return dogged.change_of_offset(before, before + interval '80 hours', time_zone);
end $$;
comment on function dogged.first_instant_of(timestamp, text) is
  'Internal: when a clock of this zone first shows the local time or, where the clock leaves it out, a later one.';

-- A local time that the clock shows twice is one tick. So the search goes on behind the latest time that the clock has shown.
create or replace function dogged.next_fixed_tick(compiled dogged.compiled_spec, time_zone text, after timestamptz) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  shown timestamp := after at time zone time_zone;
  offset_before constant interval := dogged.offset_at(after - interval '1 day', time_zone);
begin
  if offset_before > dogged.offset_at(after, time_zone) then
    shown := greatest(shown, ((dogged.change_of_offset(after - interval '1 day', after, time_zone) - interval '1 second')
                              at time zone 'UTC') + offset_before);
  end if;
  return dogged.first_instant_of(dogged.next_local_time(compiled, shown), time_zone);
end $$;
comment on function dogged.next_fixed_tick(dogged.compiled_spec, text, timestamptz) is
  'Internal: the next time of a spec with fixed hours.';

-- From one change of the clock to the next, local time passes like any other.
create or replace function dogged.next_elapsed_tick(compiled dogged.compiled_spec, time_zone text, after timestamptz) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := after;
  zone_offset interval := dogged.offset_at(moment, time_zone);
  shown timestamp := moment at time zone time_zone;
  next_shown timestamp;
  tick timestamptz;
  horizon timestamptz;
begin
  loop
    next_shown := dogged.next_local_time(compiled, shown);
    if next_shown is null then return null; end if;
    tick := (next_shown - zone_offset) at time zone 'UTC';
    horizon := least(tick, moment + interval '1 day');
    if dogged.offset_at(horizon, time_zone) = zone_offset then
      if horizon = tick then return tick; end if;
      -- No day before that of the tick has a time, so a change of the clock there does not matter.
      moment := greatest(horizon, (date_trunc('day', next_shown) - zone_offset - interval '2 days') at time zone 'UTC');
      shown := moment at time zone time_zone;
    else
      moment := dogged.change_of_offset(moment, horizon, time_zone);
      if tick < moment then return tick; end if;
      shown := (moment at time zone time_zone) - interval '1 second';
    end if;
    zone_offset := dogged.offset_at(moment, time_zone);
  end loop;
end $$;
comment on function dogged.next_elapsed_tick(dogged.compiled_spec, text, timestamptz) is
  'Internal: the next time of a spec whose hours are * or */n.';

-- Strict: the search for a time after null would not end.
create or replace function dogged.next_tick(compiled dogged.compiled_spec, time_zone text, after timestamptz) returns timestamptz
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  anchor bigint;
begin
  if compiled.every_seconds is not null then
    anchor := extract(epoch from timestamp '1970-01-01' at time zone time_zone);
    return to_timestamp(anchor + (floor((extract(epoch from after) - anchor) / compiled.every_seconds) + 1) * compiled.every_seconds);
  elsif compiled.is_by_elapsed_time then
    return dogged.next_elapsed_tick(compiled, time_zone, after);
  end if;
  return dogged.next_fixed_tick(compiled, time_zone, after);
end $$;
comment on function dogged.next_tick(dogged.compiled_spec, text, timestamptz) is
  'The first time after `after` at which a compiled spec fires in a time zone; null if there is none in 41 years.';
