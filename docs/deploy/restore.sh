#!/bin/sh
# restore.sh DUMP: put a copy made by backup.sh into the empty database that HANSARD_DATABASE names, and verify it.
set -eu
pg_restore --exit-on-error --single-transaction --no-owner --dbname="$HANSARD_DATABASE" "$1"
hansard verify --checkpoint "${1%.dump}.checkpoint" --public-key "$(cat "${1%.dump}.key")"
