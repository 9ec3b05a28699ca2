#!/usr/bin/env bash
# Runs command lines side by side. It prints the output of each as a whole, in the order in which they are given, as soon as those before
# it have ended. It fails if one of them does.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
pids=()
for line in "$@"; do
	out=$dir/${#pids[@]}
	: >"$out" # before tail looks for it
	bash -c "$line" >>"$out" 2>&1 </dev/null &
	pids+=($!)
done
trap 'kill "${pids[@]}" 2>/dev/null' INT TERM
failed=0
for i in "${!pids[@]}"; do
	tail --pid="${pids[$i]}" -n +1 -f "$dir/$i"
	wait "${pids[$i]}" || failed=1
done
exit "$failed"
