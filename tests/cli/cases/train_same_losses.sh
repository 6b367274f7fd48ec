# One device or several: the same losses, up to rounding; shares may be uneven, or empty in the last batch
# of 1 sample.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
train()
{
    hocket train lenet --data data --batch-size 7 --epochs 3 --lr 0.5 --seed 3 "$@" > /dev/null || exit
}
train --devices cpu:0 --loss-log one
train --devices cpu:0,cpu:1 --loss-log two
train --devices cpu:2,cpu:0,cpu:1 --loss-log three
train --devices cpu:0 --lr 0 --loss-log untrained
wc -l < one
difference()
{
    paste "$1" "$2" | awk '{ d = $1 - $2; d = d < 0 ? -d : d; if (!(d <= worst)) worst = d }
        END { print (worst < 1e-5 ? "same" : worst > 1e-3 ? "different" : worst) }'
}
echo "two: $(difference one two)"
echo "three: $(difference one three)"
echo "untrained: $(difference one untrained)"
# In place or asynchronous: the same to the last bit.
HOCKET_ENGINE=serial train --devices cpu:0,cpu:1 --loss-log serial
cmp two serial && echo "serial: same bytes"
train --devices cpu:0,cpu:1 --seed 4 --loss-log seed
cmp -s two seed || echo "another seed: another run"
# Shares of 16 samples each: the same to the last bit on one device, too.
mkdir even
one_part even/train 96
one_part even/t10k 20
train --data even --batch-size 32 --devices cpu:0 --loss-log even_one
train --data even --batch-size 32 --devices cpu:0,cpu:1 --loss-log even_two
cmp even_one even_two && echo "even shares: same bytes"
# Whole runs of 16 samples for each, of a last batch with fewer of them too, where some devices have no samples.
train --data even --batch-size 70 --devices cpu:0 --loss-log runs_one
for devices in cpu:0,cpu:1 cpu:0,cpu:1,cpu:2,cpu:3; do
    train --data even --batch-size 70 --devices $devices --loss-log runs
    cmp runs_one runs && echo "whole runs: same bytes"
done
