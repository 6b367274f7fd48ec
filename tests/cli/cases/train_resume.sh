# Stopped and gone on with, also in the middle of an epoch, a training has the losses of one that never stopped.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
# compare MODEL OPTIONS...
compare()
{
    local common=(--data data --batch-size 10 --epochs 3)
    hocket train "$@" "${common[@]}" --loss-log whole > /dev/null
    hocket train "$@" "${common[@]}" --loss-log first --steps 7 --save saved > /dev/null
    hocket train "$@" "${common[@]}" --loss-log rest --resume saved --save saved | sed -n 2,3s/:.*//p
    cat first rest | cmp - whole && echo "$1: the same"
    hocket train "$@" "${common[@]}" --resume saved 2>&1
}
compare lenet
compare lenet --devices cpu:0,cpu:1 --optimizer momentum
compare alexnet --size 65 --width 0.05 --lr-schedule step
compare resnet18 --size 32 --width 0.05 --optimizer adam --lr-schedule cosine --devices cpu:0,cpu:1
# What does not fit is said.
{
    hocket train mlp --data data --resume saved
    hocket train resnet18 --data data --size 32 --width 0.05 --batch-size 10 --resume saved
    hocket train resnet18 --data data --size 32 --width 0.1 --batch-size 10 --optimizer adam --resume saved
    hocket train resnet18 --data data --size 32 --width 0.05 --batch-size 25 --optimizer adam --resume saved
    hocket train resnet18 --data data --size 32 --width 0.05 --batch-size 10 --resume data/train-labels-idx1-ubyte
    hocket train lenet --data data --resume nowhere
} 2>&1 | grep -v '^ '
