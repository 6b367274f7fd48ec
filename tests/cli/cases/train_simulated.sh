# As many are made as the list needs; HOCKET_SIM says otherwise.
. "${BASH_SOURCE%/*}/tiny_data.inc"
tiny_data data
train()
{
    hocket train lenet --data data --batch-size 8 --steps 3 --loss-log losses "$@" > out || return
    sed -e 's/ in .* sec/ in N sec/' -e 's/, [0-9]* samples.*//' out
    awk '{ printf "%.5f\n", $1 }' losses
}
train --devices cpu:0
train --devices cpu:0,sim:0
train --devices sim:1,sim:0
HOCKET_SIM=1:flops=1T train --devices sim:1 2>&1
echo "exit status $?"
