# shellcheck shell=bash
# Twenty steps of other networks than LeNet, by ranks and devices mixed, captured and not: models.sh LAUNCH... world_faults hocket
#
# A small GPT has the same losses on 1, 2 and 4 devices. In ResNet-18 each device norms its own share of a batch, so the same
# holds for as many devices in all only.
# shellcheck source=/dev/null
. "$(dirname "$0")/launch.inc"
cases=$(cd "$(dirname "$0")/../cli/cases" && pwd)
# shellcheck source=/dev/null
. "$cases/tiny_data.inc"
mkdir -p data
one_part data/train 128
one_part data/t10k 16
seq 1 6000 | tr '0-9' 'etaoin hsr' > text # more than twenty batches: the last one is not full
gpt=(gpt --text text --width 0.125 --length 16 --batch-size 64 --epochs 1)
resnet18=(resnet18 --data data --width 0.0625 --size 16 --batch-size 64 --epochs 10)

# train LOG RANKS DEVICES OPTION...
train()
{
    local log=$1 ranks=$2 devices=$3
    shift 3
    : > "$log"
    timeout 60 "${launch[@]}" -n "$ranks" "$hocket" train "$@" --steps 20 --devices "$devices" --loss-log "$log" \
        > output 2>&1 || wrong "$log: training fails"
    [ "$(wc -l < "$log")" = 20 ] || wrong "$log: there are not twenty losses"
}

# same OTHER...: as the first one
same()
{
    local first=$1 other
    for other; do
        cmp "$first" "$other" || wrong "$other: losses differ"
    done
}

four=cpu:0,cpu:1,cpu:2,cpu:3
train gpt1 1 cpu:0 "${gpt[@]}"
train gpt1x2 1 cpu:0,cpu:1 "${gpt[@]}"
train gpt2x1 2 cpu:0 "${gpt[@]}"
train gpt1x4 1 $four "${gpt[@]}"
train gpt2x2 2 cpu:0,cpu:1 "${gpt[@]}"
train gpt4x1 4 cpu:0 "${gpt[@]}"
train gpt4x1c 4 cpu:0 "${gpt[@]}" --no-capture
same gpt1 gpt1x2 gpt2x1 gpt1x4 gpt2x2 gpt4x1 gpt4x1c
train gpt1a 1 cpu:0 "${gpt[@]}" --optimizer adam --lr-schedule cosine
train gpt4x1a 4 cpu:0 "${gpt[@]}" --optimizer adam --lr-schedule cosine
same gpt1a gpt4x1a

train resnet1x2 1 cpu:0,cpu:1 "${resnet18[@]}"
train resnet2x1 2 cpu:0 "${resnet18[@]}"
same resnet1x2 resnet2x1
train resnet1x4 1 $four "${resnet18[@]}"
train resnet2x2 2 cpu:0,cpu:1 "${resnet18[@]}"
train resnet4x1 4 cpu:0 "${resnet18[@]}"
train resnet4x1c 4 cpu:0 "${resnet18[@]}" --no-capture
same resnet1x4 resnet2x2 resnet4x1 resnet4x1c
exit $failed
