# Epochs are written one after another: each a permutation, none like the one before; in the files' order as such.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
train()
{
    hocket train lenet --data data --batch-size 10 --epochs 2 --order-log "$@" > /dev/null
}
values()
{
    od -An -v -t d8 -w8 "$1" | tr -d ' '
}
train shuffled --seed 3
values shuffled | head -n 50 | sort -n | uniq | wc -l
values shuffled | tail -n 50 | sort -n | uniq | wc -l
[ "$(values shuffled | head -n 50)" != "$(values shuffled | tail -n 50)" ] && echo different epochs
train plain --no-shuffle
values plain | head -n 3
values plain | wc -l
train none/such
echo "$?"
