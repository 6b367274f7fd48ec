# A small network, trained for a moment, writes on: the same for the same seed, on several devices, and by itself as beside others.
for ((i = 0; i < 60; i++)); do
    echo "The quick brown fox jumps over the lazy dog, number $i."
done > text
hocket train gpt --width 0.1 --text text --length 16 --batch-size 10 --epochs 1 --optimizer adam --lr 0.01 --save gpt.safetensors > /dev/null
write="hocket generate gpt --load gpt.safetensors --tokens"
$write 150 --seed 3 "The quick" > one
$write 150 --seed 3 "The quick" > same
$write 150 --seed 4 "The quick" > other
cmp one same && echo "same seed, same text"
cmp -s one other || echo "another seed, another text"
head -c 9 one; echo
$write 30 --top-k 5 --top-p 0.9 "the" "a fox jumps" "dog" > three
$write 30 --top-k 5 --top-p 0.9 "the" "a fox jumps" "dog" --devices cpu:0,cpu:1 > spread
cmp three spread && echo "the same on two devices"
wc -l < three
$write 20 --temperature 0 "the lazy" > alone
$write 20 --temperature 0 "over" "the lazy" | tail -n 1 | cmp - alone && echo "the same beside another"
$write 5 "" || echo "status $?"
hocket generate lstm --load gpt.safetensors x || echo "status $?"
hocket generate gpt x || echo "status $?"
hocket generate gpt --load gpt.safetensors --temperature -1 x || echo "status $?"
