#!/bin/sh
# restore.sh DUMP: put a copy made by backup.sh into the empty database that HANSARD_DATABASE names, and verify it.
set -eu
umask 077
plain=$(mktemp) # as long as the dump unpacked; TMPDIR says where
trap 'rm -f "$plain"' EXIT
pg_restore --no-owner --file="$plain" "$1"
# A newer pg_dump sets what an older server does not know.
sed '1,40{/^SET transaction_timeout = /d;}' "$plain" |
  psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --single-transaction --dbname="$HANSARD_DATABASE" --file=- > /dev/null
hansard verify --checkpoint "${1%.dump}.checkpoint" --public-key "$(cat "${1%.dump}.key")"
