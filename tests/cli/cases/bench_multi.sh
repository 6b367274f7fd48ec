. "${BASH_SOURCE%/*}/bench_form.inc"
bench_form multi --batch-size 8 --steps 2 --flops 1e11 --link 1e10 --repeat 1
