#!/usr/bin/env bash
# Runs a command and prints what it took, on the wall and on all processors together. Its exit status is the command's.
set -u
TIMEFORMAT='%R %U %S'
exec 3>&1 4>&2
times=$({ time "$@" >&3 2>&4 3>&- 4>&-; } 2>&1)
status=$?
read -r real user sys <<<"$times"
awk -v r="$real" -v u="$user" -v s="$sys" 'BEGIN { printf "took %d min %02d s on the wall and %d CPU-seconds\n", r/60, r%60, u+s }' >&2
exit "$status"
