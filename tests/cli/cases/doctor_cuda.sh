# What is said of GPUs where the plug-in is not there, and of a device that then is not there either.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
unset HOCKET_CUDA
HOCKET_CUDA_PLUGIN=/nowhere/libhocket_cuda.so hocket doctor --data data | sed -n '/^cuda/,/^training/p'
HOCKET_CUDA_PLUGIN=/nowhere/libhocket_cuda.so hocket train lenet --data data --devices cuda:0
HOCKET_CUDA=off hocket train lenet --data data --devices cuda:0/1
HOCKET_CUDA=0/0 hocket doctor --data data | grep ^devices
true
