#!/bin/sh
# backup.sh FOLDER: a dump of a log in PostgreSQL, with a signed checkpoint beside it. Servers keep running.
# HANSARD_DATABASE names the log. Keep the password out of it: libpq and Hansard read ~/.pgpass.
set -eu
umask 077
name="$1/hansard-$(date -u +%Y%m%dT%H%M%SZ)"
hansard checkpoint > "$name.checkpoint" # first, so that the dump has all that it covers
hansard checkpoint --public-key > "$name.key"
pg_dump --format=custom --schema=hansard --file="$name.part" --dbname="$HANSARD_DATABASE"
pg_restore --list "$name.part" > /dev/null
mv "$name.part" "$name.dump"
echo "$name.dump"
