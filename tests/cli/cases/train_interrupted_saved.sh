# Ctrl-C and SIGTERM, also several: what was trained is saved, and goes on.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
common=(mlp --data data --batch-size 5 --epochs 100000)
# stop SIGNAL...
stop()
{
    rm -f saved out losses
    hocket train "${common[@]}" --save saved > out 2> said &
    until grep -qs '^epoch  1:' out; do
        sleep 0.05
    done
    for signal; do
        kill -"$signal" $!
    done
    wait $!
    echo "$?"
    count=$(hocket train "${common[@]}" --steps 1 --resume saved 2>&1 | sed -n 's/^hocket: saved has done \([0-9]*\) steps; --steps must be more$/\1/p')
    hocket train "${common[@]}" --steps $((count + 1)) --resume saved --loss-log losses | sed -n 's/ epoch.*//; s/^epoch *[0-9]*: loss .*/went on/p'
    wc -l < losses
}
stop INT
stop TERM TERM
