# Ctrl-C: what was trained is saved, and goes on.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
hocket train mlp --data data --batch-size 5 --epochs 100000 --save saved > out 2> /dev/null &
until grep -qs '^epoch  1:' out; do
    sleep 0.05
done
kill -INT $!
wait $!
echo "$?"
hocket train mlp --data data --batch-size 5 --epochs 100000 --steps 1 --resume saved | sed -n 's/ epoch.*//; s/^epoch *[0-9]*: loss .*/went on/p'
