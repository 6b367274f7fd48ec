# Each line is a JSON object with numbers; all else is on standard error.
command -v python3 > /dev/null || exit 77
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
hocket train lenet --data data --devices cpu:0,cpu:1 --batch-size 16 --epochs 2 --lr 0.5 --seed 7 --json > out || exit
while IFS= read -r line; do
    echo "$line" | python3 -m json.tool --sort-keys
done < out
