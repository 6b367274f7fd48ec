# shellcheck shell=bash
# The same training by 4 x 1, 2 x 2 and 1 x 4 ranks and devices, captured and not: train.sh LAUNCH... world_faults hocket
# shellcheck source=/dev/null
. "$(dirname "$0")/launch.inc"
cases=$(cd "$(dirname "$0")/../cli/cases" && pwd)
# shellcheck source=/dev/null
. "$cases/tiny_data.inc"
mkdir -p data
one_part data/train 128
one_part data/t10k 40

# train LOG RANKS DEVICES OPTION...
train()
{
    local log=$1 ranks=$2 devices=$3
    shift 3
    : > "$log"
    timeout 60 "${launch[@]}" -n "$ranks" "$hocket" train lenet --data data --devices "$devices" --batch-size 64 \
        --epochs 2 --lr 0.5 --loss-log "$log" "$@" > output 2>&1 || wrong "$log: training fails"
    grep -v samples/s output | grep -v sec/epoch | sed 's/ on \[.*\]\( on each of [0-9]* ranks\)*//' > "$log.text"
    grep -o 'loss.*test acc [0-9.]*' output >> "$log.text"
}

train 1x4 1 cpu:0,cpu:1,cpu:2,cpu:3
train 2x2 2 cpu:0,cpu:1
train 4x1 4 cpu:0
train 4x1c 4 cpu:0 --no-capture
[ "$(wc -l < 1x4)" = 4 ] || wrong "1x4: there are not four losses"
for other in 2x2 4x1 4x1c; do
    cmp 1x4 $other || wrong "$other: losses differ"
    cmp 1x4.text $other.text || wrong "$other: what is printed differs"
done

# A last batch of which ranks have shares that differ, or that one of them alone has had before: no step of it is replayed.
one_part data/train 63
for ranks in 3 4; do
    train ${ranks}uneven $ranks cpu:0 --batch-size 32 --epochs 3
    train ${ranks}unevenc $ranks cpu:0 --batch-size 32 --epochs 3 --no-capture
    cmp ${ranks}uneven ${ranks}unevenc || wrong "$ranks ranks: a last batch that is not full has other losses captured"
done
one_part data/train 128

# A file that four ranks have saved is gone on with by two, and by one process.
train saved 4 cpu:0 --save file.safetensors --steps 2 --epochs 1
train two 2 cpu:0,cpu:1 --resume file.safetensors
train one 1 cpu:0,cpu:1,cpu:2,cpu:3 --resume file.safetensors
tail -n 2 1x4 | cmp - two || wrong "two: other losses than without a pause"
cmp two one || wrong "one: losses differ"

# What ranks are not told alike is said before they train apart.
timeout 60 "${launch[@]}" -n 1 "$hocket" train lenet --data data --devices cpu:0 --batch-size 64 --no-capture : \
    -n 1 "$hocket" train lenet --data data --devices cpu:0 --batch-size 32 --no-capture > output 2>&1 \
    && wrong "other batches: it trains"
grep -q "rank 0 has 64 samples in a batch, but rank 1 has 32" output || wrong "other batches: no sentence"

# Another launcher than the plug-in's: each process would be a world of one.
case ${WORLD_MPI:-} in
openmpi) other=mpich ;;
*) other=openmpi ;;
esac
plugin=${HOCKET_MPI%libhocket_mpi_*}libhocket_mpi_$other.so
if [ -e "$plugin" ]; then
    HOCKET_MPI=$plugin timeout 60 "${launch[@]}" -n 2 "$hocket" train lenet --data data > output 2>&1
    status=$?
    [ $status = 2 ] || wrong "another launcher: status $status, expected 2"
    grep -q "it belongs to another launcher" output || wrong "another launcher: no sentence"
fi
exit $failed
