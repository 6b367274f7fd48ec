# Ctrl-C: an orderly end, and what is complete is written.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
hocket train lenet --data data --batch-size 5 --epochs 100000 --plot curves.svg > out &
until grep -qs '^epoch  1:' out; do
    sleep 0.05
done
kill -INT $!
wait $!
echo "$?"
tail -n 1 curves.svg
