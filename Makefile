# Each target does its own set-up: a fresh Debian 12 with a Rust toolchain is enough.
#   make build            release binaries in target/release
#   make check            what to run before each commit: format, lints, laws, fast tests
#   make test             the whole suite, with the lab (needs root)
#   make test-full        and the ignored, long-running tests
#   make demo             the example of the control-plane document, end to end (needs root)
#                         HOLD=1 leaves the lab up and opens the CLI, SCENARIO=name runs another one
#   make bench            measures, writes target/bench.json; ONLY=group[,group] replaces only those keys,
#                         LONG=1 keeps a steady load up for ten minutes
# There are no package targets (deb, rpm) yet.

SHELL := /bin/sh
TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),$(CURDIR)/target)
export PATH := $(TARGET)/tools/bin:$(TARGET)/venv/bin:$(PATH)
# Programs of the lab and the demo.
PROGRAMS := -p cats-mgmtd-daemon -p cats-engine-daemon -p cats-cli-cats
# The lab configures networks: it runs as root, through sudo where the caller is somebody else.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo -E env PATH=$(PATH))
HOST = $(shell rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
TEST = $(if $(SUDO),CARGO_TARGET_$(HOST)_RUNNER='$(SUDO)') cargo nextest run --workspace --locked --profile ci --cargo-quiet

.PHONY: build check test test-full demo bench fmt setup-build setup-test setup-bench programs

setup-build:
	@sh conformance/setup.sh build
	@cargo xtask yang-fetch

setup-test:
	@sh conformance/setup.sh test
	@cargo xtask yang-fetch

setup-bench:
	@sh conformance/setup.sh bench

build: setup-build
	cargo build --release --locked $(PROGRAMS)

programs: setup-test
	cargo build --release --locked $(PROGRAMS)

check: setup-test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo xtask tidy
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check licenses bans sources; fi
	cargo nextest run --workspace --profile fast --cargo-quiet

fmt:
	cargo fmt --all

test: programs
	cargo nextest run --workspace --locked --no-run
	$(TEST)

test-full: programs
	$(TEST) --run-ignored all

demo: programs
	cargo build --locked -p cats-conformance --bin cats-lab
	$(SUDO) $(TARGET)/debug/cats-lab demo $(if $(SCENARIO),--scenario $(SCENARIO)) $(if $(HOLD),--hold)

bench: setup-bench programs
	cargo build --release --locked -p cats-bench
	$(SUDO) $(TARGET)/release/cats-bench $(if $(ONLY),--only $(ONLY)) $(if $(LONG),--long)
