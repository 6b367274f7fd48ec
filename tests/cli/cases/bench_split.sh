. "${BASH_SOURCE%/*}/bench_form.inc"
bench_form split --batch-size 32 --steps 2 --repeat 2
