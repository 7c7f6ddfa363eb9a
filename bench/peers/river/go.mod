module dogged/bench/river

go 1.25.0

require (
	github.com/jackc/pgx/v5 v5.10.0
	github.com/riverqueue/river v0.44.1
	github.com/riverqueue/river/riverdriver/riverpgxv5 v0.44.1
)
