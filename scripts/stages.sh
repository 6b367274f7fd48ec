# Stages of a long run, for scripts that source this: stage NAME COMMAND..., and finish at the end, which tells times and, as the last
# line, 'N passed, N failed' of all. A stage that runs no tests counts as one, and one that fails does not stop the next.

stages_log=$(mktemp) stages_failures=$(mktemp)
trap 'rm -f "$stages_log" "$stages_failures"' EXIT
passed=0 failed=0 skipped=0
timings=()

stage()
{
    local name=$1 begin=$SECONDS status=0 counts p f s
    shift
    printf '\n=== %s\n' "$name"
    "$@" 2>&1 | tee "$stages_log" || status=1
    counts=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p' "$stages_log" | tail -n 1)
    # Said again at the end: of a long log only that may be kept.
    sed -nE '/\*\*\*(Failed|Timeout|Exception|Not Run)/,/^ +Start +[0-9]+: /p' "$stages_log" | tail -n 150 >> "$stages_failures"
    if [ -n "$counts" ]; then
        read -r p f s <<< "$counts"
        if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
            f=1
        fi
    else
        p=$((1 - status)) f=$status s=0
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
    timings+=("$(printf '%-14s %4d s  %s' "$name" "$((SECONDS - begin))" "$([ "$f" -eq 0 ] && echo ok || echo FAILED)")")
    printf -- '--- %s\n' "${timings[-1]}"
}

finish()
{
    local line="$passed passed, $failed failed"
    printf '\n'
    cat "$stages_failures"
    printf '%s\n' "${timings[@]}" "all $(printf '%15d s' "$SECONDS")"
    if [ "$skipped" -gt 0 ]; then
        line+=", $skipped skipped"
    fi
    echo "$line"
    [ "$failed" -eq 0 ]
}
