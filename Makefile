# A thin face: the work is in CMakeLists.txt and scripts/.

# What `make train` trains, and how; for example make train ARGS="lenet --epochs 1"
ARGS ?= lenet --devices cpu:0,cpu:1 --batch-size 256 --lr 0.2 --epochs 10 --seed 0
# How often `make bench-book` runs everything
RUNS ?= 1
# Options of scripts/gpu-bundle run; for example make bench-gpu GPU_ARGS="--python ~/torch/bin/python"
GPU_ARGS ?=
# Of which GPUs make gpu-bundle, test-gpu and bench-gpu compile machine code
GPU_ARCH ?= 80-real;90
# ON: warnings are errors, as in CI
WERROR ?= OFF
# Whether to build the plug-in for NVIDIA GPUs: AUTO: where CUDA's toolkit is
CUDA ?= AUTO

.DEFAULT_GOAL := help
.PHONY: help train build test check check-all python test-python gpu-bundle test-gpu bench bench-engine bench-book bench-gpu asan tsan docs generate format check-format lint clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

train: ## install what is missing, build, and train LeNet on Fashion-MNIST (ARGS=... for something else)
	@scripts/install-deps build data
	cmake --preset release -DHOCKET_WERROR=$(WERROR) -DHOCKET_CUDA=$(CUDA)
	cmake --build --preset release --target hocket_cli
	build/release/hocket train $(ARGS)

build: ## install what is missing, and build the library and the command, for cmake --install build/release
	@scripts/install-deps build
	cmake --preset release -DHOCKET_WERROR=$(WERROR) -DHOCKET_CUDA=$(CUDA) -DHOCKET_TESTS=OFF
	cmake --build --preset release

test: ## install what is missing, build, and run the tests that say whether this build is good, in some minutes
	@scripts/install-deps build data test python
	cmake --preset release -DHOCKET_WERROR=$(WERROR) -DHOCKET_CUDA=$(CUDA) -DHOCKET_TESTS=ON
	cmake --build --preset release
	@scripts/run-tests build/release -LE '^check$$'

check: ## install what is missing, and check what CI checks beside make test: longer tests, sanitizers, format
	@scripts/install-deps build data test python check
	@scripts/install-pypi
	@scripts/check -DHOCKET_CUDA=$(CUDA)

check-all: ## all that there is, in an hour: emulated GPUs, each MPI, other Pythons, fuzzing, and make test
	@scripts/install-deps build data test python check all bench book
	@scripts/install-pypi
	@scripts/install-pypi docs
	@scripts/check --all -DHOCKET_CUDA=$(CUDA)

python: ## install what is missing, and build the Python package into build/release/python, for PYTHONPATH
	@scripts/install-deps build python
	cmake --preset release -DHOCKET_WERROR=$(WERROR) -DHOCKET_CUDA=$(CUDA)
	cmake --build --preset release --target hocket_python

test-python: python ## its tests
	@scripts/run-tests build/release -L '^python$$'

gpu-bundle: ## build with CUDA, into the folder build/gpu-bundle, what a machine with a GPU is to run
	@scripts/gpu-bundle build --arch '$(GPU_ARCH)' build/gpu-bundle -DHOCKET_WERROR=$(WERROR)

test-gpu: gpu-bundle ## make that folder, and run the tests of GPUs on those of this machine; fails where there is none
	@build/gpu-bundle/gpu-bundle run $(GPU_ARGS) --out build/gpu-results check tests

bench: ## install what is missing, build, and run every program in bench/
	@scripts/install-deps build data bench
	cmake --preset release -DHOCKET_WERROR=$(WERROR) -DHOCKET_CUDA=$(CUDA) -DHOCKET_BENCH=ON
	cmake --build --preset release
	@set -e; for program in bench/bench_*.c; do \
		name=$$(basename $$program .c); echo "== $$name"; \
		build/release/bench/$$name || [ $$? = 77 ]; done # 77: what it measures is not here

bench-engine: ## install what is missing, build, and measure the engine beside its peers: docs/measurements/engine.md
	@scripts/install-deps build bench
	cmake --preset release -DHOCKET_WERROR=$(WERROR) -DHOCKET_CUDA=$(CUDA) -DHOCKET_BENCH=ON
	cmake --build --preset release --target bench_engine bench_all_reduce
	@scripts/bench-engine

bench-book: ## install what is missing, build, and run the book's experiments: docs/measurements/book.md
	@scripts/install-deps build data book
	cmake --preset release -DHOCKET_WERROR=$(WERROR) -DHOCKET_CUDA=$(CUDA)
	cmake --build --preset release --target hocket_cli example_front_end example_perceptron
	@scripts/bench-book --runs $(RUNS)

bench-gpu: gpu-bundle ## make that folder, and measure this machine's first GPU beside PyTorch; fails where there is none
	@build/gpu-bundle/gpu-bundle run $(GPU_ARGS) --out build/gpu-results bench

docs: python ## the documentation site, build/docs/index.html: guides, examples, the C, C++ and Python references
	@scripts/install-pypi docs
	@scripts/build-docs build/docs

asan: ## tests of the library and the Python package under the address, undefined and leak sanitizers
	@scripts/install-deps build data python check
	cmake --preset asan
	cmake --build --preset asan
	@scripts/run-tests build/asan -L '^(unit|program|python)$$'

tsan: ## tests of the library under the thread sanitizer
	@scripts/install-deps build data check
	cmake --preset tsan
	cmake --build --preset tsan
	@scripts/run-tests build/tsan -L '^(unit|program)$$'

generate: ## write what follows from the operator table: hocket/ops.h, src/op/api.c, docs/OPERATORS.md
	@scripts/install-deps build
	cmake --preset release
	cmake --build --preset release --target generate

format: ## format all sources
	@scripts/format

check-format: ## say what `make format` would change
	@scripts/check-format

lint: ## layers of includes and of symbols, and length of files
	@scripts/check-layers
	cmake --preset release -DHOCKET_WERROR=$(WERROR) -DHOCKET_CUDA=$(CUDA)
	cmake --build --preset release --target hocket_objects
	@scripts/check-symbols build/release
	@scripts/check-length

clean: ## remove everything that was built
	rm -rf build
