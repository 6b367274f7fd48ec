# A run that begins with dumped parameters is the same run.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
train()
{
    hocket train lenet --data data --batch-size 10 --epochs 1 --no-shuffle "$@" > /dev/null
}
train --seed 5 --dump-init init --loss-log drawn
train --seed 6 --init init --dump-init again --loss-log read
cmp drawn read && echo same losses
diff -r init again && wc -c init/* | awk '{ print $1, $2 }'
head -c 79 init/p1.bin > short && cp short init/p1.bin
train --init init
echo "$?"
printf x >> init/p0.bin
train --init init
echo "$?"
rm init/p0.bin
train --init init
echo "$?"
