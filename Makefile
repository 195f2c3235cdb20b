# make demo     show what it does: compare every scheduler on a recorded workload, and write a page with charts
# make test     run the tests; those that need a live disk or root are skipped where there is none, and counted at the end
# make check    run everything that a change must pass: format, lints, documentation, tests, golden runs
#               (needs rustfmt and clippy)
# make lint     check format, lints and documentation
# make msrv     build with the oldest supported Rust, in a fresh Debian 13 (as root); TEST=1 runs the tests there as well
# make golden   compare the results of some 1200 runs with recorded ones, in two minutes; UPDATE=1 records them anew
# make bench    measure the speed
# make soak     run the property tests on SOAK_CASES random inputs each, different ones each time
# make fuzz     feed damaged input to every parser, for FUZZ_SECONDS each (`make test` does so briefly)
# make doc      build the documentation of the crates, in target/doc
# make bpf      compile the programs that watch a live disk from their C source (needs clang, llvm-strip, libbpf's headers)
# make install  install the command, its man pages and completions under PREFIX
# make clean    remove what was built

CARGO ?= cargo
PREFIX ?= $(HOME)/.local
REPORT ?= iopilot-demo.html
FUZZ_SECONDS ?= 20
SOAK_CASES ?= 2000
FUZZ = $(CARGO) run --locked --quiet --package iopilot-fuzz --
IOPILOT = $(or $(CARGO_TARGET_DIR),target)/release/iopilot
DEMO = $(or $(CARGO_TARGET_DIR),target)/demo/iopilot

TARGET = $(abspath $(or $(CARGO_TARGET_DIR),target))

# Property tests try the same inputs each time, so that a change is not refused for what it did not do; `make soak` others.
test: export PROPTEST_RNG_SEED = 20080624

# Each test that is skipped adds a line: its name and why, with a tab between.
SKIPPED = $(TARGET)/skipped-tests
test: export IOPILOT_SKIPPED = $(SKIPPED)

BPF = crates/iopilot-live/bpf

.PHONY: help bpf demo build-demo test check lint msrv golden bench soak fuzz doc build install clean toolchain

help:
	@sed -n '/^# /!q; s/^# //p' Makefile

# The oldest Rust that builds this: as `rust-version` in Cargo.toml says.
toolchain:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust 1.85 or newer, from your distribution" \
	  "(Debian 13: apt install cargo) or with rustup" >&2; exit 1; }
	@version=$$($(CARGO) --version | cut -d' ' -f2); \
	  printf '%s\n%s\n' 1.85 "$$version" | sort -CV || { echo "cargo $$version is too old: Rust 1.85 or newer is" \
	  "needed, from your distribution (Debian 13) or with rustup" >&2; exit 1; }

build: toolchain
	$(CARGO) build --release --locked --package iopilot

build-demo: toolchain
	$(CARGO) build --profile demo --locked --package iopilot

demo: build-demo
	$(DEMO) demo --report $(REPORT)

test: toolchain
	@mkdir -p $(TARGET) && : > $(SKIPPED)
	@CARGO="$(CARGO)" sh contrib/test.sh $(TARGET)
	@sort -u $(SKIPPED) | awk -F '\t' '{ n[$$2]++ } END { for (why in n) printf "%5d skipped: %s\n", n[why], why }' | sort -k 1nr -k 3
	@echo "$$(cut -f 1 $(SKIPPED) | sort -u | grep -c .) tests were skipped, or skipped a part; $(SKIPPED) names them"

lint: toolchain
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --workspace --features iopilot/ublk --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

# What fails most often and soonest comes first.
check: lint test golden

msrv:
	sh contrib/msrv.sh $(TARGET)/msrv $(and $(TEST),test)

# With IOPILOT=/path/to/iopilot that binary is run, and nothing is built. Results do not depend on the profile, and this one builds soonest.
golden: $(if $(filter command,$(origin IOPILOT)),,build-demo)
	@IOPILOT=$(if $(filter command,$(origin IOPILOT)),$(IOPILOT),$(DEMO)) tests/golden/run.sh $(if $(UPDATE),update,check)

bench: toolchain
	$(CARGO) bench --workspace --locked --benches

soak: toolchain
	PROPTEST_CASES=$(SOAK_CASES) $(CARGO) test --workspace --locked --quiet --no-fail-fast

# Other inputs each time; the same with FUZZ_SEED=1.
fuzz: toolchain
	$(FUZZ) --seconds $(FUZZ_SECONDS) --seed $(or $(FUZZ_SEED),$(shell date +%s))

doc: toolchain
	$(CARGO) doc --workspace --no-deps --locked

# What it makes is committed: users need no clang. A test compares the checksums.
bpf:
	cd $(BPF) && clang -O2 -g -mcpu=v3 -Wall -Werror -target bpfel -fdebug-compilation-dir=. -c capture.bpf.c -o capture.bpf.o
	cd $(BPF) && llvm-strip -g capture.bpf.o && cksum capture.bpf.c capture.bpf.o > checksums

install: build
	install -Dm755 $(IOPILOT) $(DESTDIR)$(PREFIX)/bin/iopilot
	$(IOPILOT) man --out $(DESTDIR)$(PREFIX)/share/man/man1
	mkdir -p $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(IOPILOT) completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/iopilot
	$(IOPILOT) completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_iopilot
	$(IOPILOT) completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/iopilot.fish

clean:
	$(CARGO) clean
