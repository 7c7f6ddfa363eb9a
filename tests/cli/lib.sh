# The functions that the tests of the command share. Each test is called with the path of `dogged`, and works in a
# directory of its own. A test goes on after a failed check, so that one run shows all of them.
set -uo pipefail

dogged_program=$(realpath "$1")
tests=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
chmod 755 "$work" # as root the server runs as another user
cd "$work" || exit 1
failures=0

# Nothing of the surroundings decides which database is used, or how output looks.
unset DATABASE_URL PGHOST PGPORT PGDATABASE PGSERVICE PGUSER PGPASSWORD PGOPTIONS DOGGED_SCHEMA NO_COLOR COLUMNS \
  DOGGED_LOG_FORMAT DOGGED_METRICS_LISTEN DOGGED_METRICS_NAMES DOGGED_RETRY_CONFIG
export LC_ALL=C.UTF-8 TZ=UTC

dogged() { "$dogged_program" "$@"; }

finish() {
  (cd "$work" && "$dogged_program" dev down --remove >/dev/null 2>&1)
  rm -rf "$work"
  if [ "$failures" -gt 0 ]; then
    echo "$failures checks failed"
    exit 1 # what a trap ends with counts only where it says exit
  fi
}
trap finish EXIT

fail() { failures=$((failures + 1)); echo "FAILED: $1"; }

# check PROMISE EXIT_CODE COMMAND…: runs it, with what it prints in the files out and err.
check() {
  local promise=$1 expected=$2 code
  shift 2
  "$@" >out 2>err
  code=$?
  if [ "$code" -ne "$expected" ]; then
    fail "$promise: exit code $code, not $expected: $*"
    sed 's/^/  out: /' out
    sed 's/^/  err: /' err
  fi
}

# until_true COMMAND…: waits for it, up to a minute and a half.
until_true() {
  local tries
  for tries in $(seq 900); do
    "$@" && return
    sleep 0.1
  done
  return 1
}

# said FILE TEXT…: each text stands in the file.
said() {
  local file=$1 text
  shift
  for text in "$@"; do
    if ! grep -qF -- "$text" "$file"; then
      fail "not in $file: $text"
      sed "s/^/  $file: /" "$file"
    fi
  done
}

silent() { if [ -s "$1" ]; then fail "$1 is not empty"; sed 's/^/  /' "$1"; fi; }

# psql as `dogged dev psql` calls it, which takes the processors 0.19 s: it looks for PostgreSQL's programs first. This
# takes 0.05 s, and some tests call it a hundred times.
psql_program=$("$tests/../support/cluster" bin)/psql
query() { PGOPTIONS="-c search_path=dogged,public" "$psql_program" -XAtq -v ON_ERROR_STOP=1 -d "$(<"$work/.dogged/url")" "$@"; }
sql() { query -c "$1"; }

# Whether out is one JSON document with these keys at its top, or at the top of its first element.
is_json_with() {
  local keys
  keys=$(query -v doc="$(cat out)" -f - <<'SQL'
select string_agg(k, ' ') from (select jsonb_object_keys(case jsonb_typeof(d) when 'array' then d -> 0 else d end) k
  from (select :'doc'::jsonb d) as x order by 1) as y
SQL
  )
  local expected
  expected=$(printf '%s\n' "$@" | LC_ALL=C sort | paste -sd' ')
  [ "$keys" = "$expected" ] || fail "JSON keys are \"$keys\", not \"$expected\""
}
