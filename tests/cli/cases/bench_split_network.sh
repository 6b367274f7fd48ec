. "${BASH_SOURCE%/*}/bench_form.inc"
bench_form split-network --devices 2 --micro-batches 4 --batch-size 16 --width 16 --flops 1e8 --repeat 2
code()
{
    status=0
    "$@" 2>&1 || status=$?
    echo "status $status"
}
code hocket bench split-network --batch-size 20
code hocket bench split-network --width 30
