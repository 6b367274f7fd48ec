. "${BASH_SOURCE%/*}/tiny_data.inc"
tiny_data data
code()
{
    local status=0
    "$@" > out 2>&1 || status=$?
    sed -E 's/ at [^ ]*\.c:[0-9]+//' out
    echo "exit status $status"
}
code hocket bench multi --batch-size 4
code hocket bench multi --steps 1
code hocket bench multi --flops fast
code hocket bench multi --data data --batch-size 32 --repeat 1 --flops 1e11 --json
code hocket bench split --data nowhere
code hocket bench split --data data --json
code hocket bench graph --statements 0
