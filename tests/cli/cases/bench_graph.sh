. "${BASH_SOURCE%/*}/bench_form.inc"
bench_form graph --statements 20 --repeat 1
