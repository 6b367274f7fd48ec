. "$(dirname "$0")/tiny_data.inc"
tiny_data data
hocket train lenet --data data --devices cpu:0,cpu:1 --batch-size 8 --epochs 2
hocket train lenet --data data --steps 3 --batch-size 8
