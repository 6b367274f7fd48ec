. "$(dirname "$0")/tiny_data.inc"
tiny_data data
truncate -s -1 data/train-labels-idx1-ubyte
hocket train lenet --data data
