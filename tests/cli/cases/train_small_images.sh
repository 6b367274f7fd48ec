# lenet needs images of 14 x 14.
for part in train t10k; do
    mkdir -p data
    printf '\0\0\10\3\0\0\0\1\0\0\0\15\0\0\0\1x23456789abcd' > data/$part-images-idx3-ubyte
    printf '\0\0\10\1\0\0\0\1\0' > data/$part-labels-idx1-ubyte
done
hocket train lenet --data data
