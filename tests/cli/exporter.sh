# shellcheck shell=bash
# For the tests of `dogged exporter`, which source it: a database with roles, the exporter, and what a scrape of it says.
. "$(dirname "$(realpath "$0")")/lib.sh"
dogged dev up >/dev/null || exit 1
dogged migrate --roles >/dev/null

exporter=
stop_exporter() { if [ -n "$exporter" ]; then kill "$exporter" && wait "$exporter"; exporter=; fi; }
trap 'stop_exporter; finish' EXIT

# start_exporter OPTION…: on a free port; its log is the file log, and $url is where it listens.
start_exporter() {
  : >log
  "$dogged_program" exporter --listen 127.0.0.1:0 "$@" 2>log &
  exporter=$!
  until_true grep -q "metrics on" log || fail "the exporter did not start: $(cat log)"
  url=$(sed -n 's|.*metrics on \(http://127\.0\.0\.1:[0-9]*\)/metrics.*|\1|p' log)
}
scrape() { curl -s --max-time 20 "$url/metrics" >metrics; }
has() { scrape && grep -qxF -- "$1" metrics; }
# scraped LINE: the metrics get to say so. A scrape within a second after another one shares its answer.
scraped() { until_true has "$1" || { fail "not in the metrics: $1"; grep -F "${1%%[{ ]*}" metrics | sed 's/^/  metrics: /'; }; }
unsaid() { ! grep -qF -- "$2" "$1" || fail "in $1: $2"; }
# is_about NAME LOW HIGH: the metric with these labels has a value in between.
is_about() {
  local value
  value=$(awk -v name="$1" 'index($0, name " ") == 1 { print $NF }' metrics)
  awk -v value="$value" -v low="$2" -v high="$3" 'BEGIN { exit !(value != "" && value + 0 >= low && value + 0 <= high) }' ||
    fail "$1 is \"$value\", not $2 to $3"
}
