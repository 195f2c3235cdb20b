#!/bin/sh
# Builds and runs all tests, and says which step of how many it is at, and how long each took. Ends with the exit code of
# what failed.
#
#   sh contrib/test.sh TARGET      (make test)
#
# TARGET is cargo's target directory. Of each test program one line comes before it runs, and cargo's line with its
# result after it; tests that pass are not named. Lines come at once, so that a log shows how far it is.
set -eu
target=$1
cargo=${CARGO:-cargo}
steps=5 step=0 began=$(date +%s)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# begin WHAT: the next step.
begin() {
  step=$((step + 1)) step_began=$(date +%s)
  echo "test: step $step of $steps: $1"
}

end() {
  echo "test: step $step of $steps took $(($(date +%s) - step_began)) s"
}

# shown FILTER COMMAND...: runs the command with its output through the filter; its exit code.
shown() {
  filter=$1
  shift
  { "$@" 2>&1 && echo 0 >"$folder/code" || echo $? >"$folder/code"; } | $filter
  return "$(cat "$folder/code")"
}

# Of a build: how many test programs it gives. cargo tests the examples in the documentation of each library besides.
programs() {
  programs=0 libraries=0
  while IFS= read -r line; do
    case $line in
    "  Executable unittests src/lib.rs "*) programs=$((programs + 1)) libraries=$((libraries + 1)) ;;
    "  Executable "*) programs=$((programs + 1)) ;;
    *) printf '%s\n' "$line" ;;
    esac
  done
  echo "$programs $libraries" >"$folder/programs"
}

# Of a run: each program with its number, its result, and all that is not a test that passed.
progress() {
  number=0
  while IFS= read -r line; do
    case $line in
    "     Running "*"("*")")
      number=$((number + 1)) source=${line#"     Running "} program=${line##*/}
      echo "[$number/$total] ${program%-*}: ${source% (*}"
      ;;
    "   Doc-tests "*)
      number=$((number + 1))
      echo "[$number/$total] ${line#"   Doc-tests "}: examples in its documentation"
      ;;
    "test "*" ... ok" | "running "*" test" | "running "*" tests" | ok | "" | "    Finished "*) ;;
    *) printf '%s\n' "$line" ;;
    esac
  done
}

begin "build the tests"
shown programs "$cargo" test --workspace --locked --no-run
end

read -r programs libraries <"$folder/programs"
total=$((programs + libraries))
begin "run $total test programs"
shown progress "$cargo" test --workspace --locked
end

# Always the whole workspace: cargo unites the features of the packages it is asked for, so another choice of packages would build most
# dependencies again. For the same reason the fuzzer is run as its own tests have built it.
ublk="--workspace --features iopilot-live/ublk --lib --test vdisk_live --locked"
begin "build the tests of virtual disks by ublk"
shown programs "$cargo" test $ublk --no-run
end

read -r total libraries <"$folder/programs"
begin "run those of $total test programs"
shown progress "$cargo" test $ublk -- ublk
end

begin "damage the input of every parser for some seconds"
"$target/debug/iopilot-fuzz" --iterations 5000 --seconds 4
end
echo "test: all passed, in $(($(date +%s) - began)) s"
