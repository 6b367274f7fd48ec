# A loss that is no number is null, as JSON has none.
command -v python3 > /dev/null || exit 77
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
hocket train lenet --data data --steps 1 --dump-init init > /dev/null || exit
printf '\xff\xff\xff\xff' | dd of=init/p7.bin conv=notrunc 2> /dev/null
hocket train lenet --data data --epochs 1 --init init --json > out 2> err || exit
python3 -c 'import json; print(json.load(open("out"))["loss"])'
grep number err
