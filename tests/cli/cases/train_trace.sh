# A run is recorded, and read back.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
hocket train lenet --data data --steps 2 --batch-size 8 --devices cpu:0,cpu:1 --trace run.json > /dev/null || exit
hocket trace run.json --svg lanes.svg > summary || exit
grep -o '"name":"conv2d"' run.json | sort -u
grep -o '"collective":true' run.json | sort -u
grep -o '"backward":true' run.json | sort -u
grep -o 'lenet_model.c"' run.json | sort -u
# A lane is there where a worker ran something: the thread that waits may have been quicker than one of them.
grep -q 'cpu:[01]</text>' lanes.svg && echo "the lane of a device"
hocket train lenet --data data --steps 1 --batch-size 8 --trace nowhere/run.json
echo "exit status $?"
