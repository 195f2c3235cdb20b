#!/usr/bin/env bash
# Runs iopilot some 1200 times and prints a hash of each result. README.md beside this file says what for.
#
#   run.sh                       print `hash  command` and the figures of each command, always in the same order
#   run.sh check                 compare with expected.txt; end with 1 where anything differs, with 2 where a run failed
#   run.sh update                print the same comparison, and write expected.txt
#   run.sh list                  print the commands and run nothing
#   run.sh compare BEFORE AFTER  compare two files that `run.sh` printed; run nothing
#   run.sh figures < RESULT      print the figures of one result
#
# Environment: IOPILOT, the binary (target/demo/iopilot); KEEP, a folder that keeps what was hashed; JOBS, how many runs
# at once. A run that fails or prints nothing is an error, never a hash.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
expected=$here/expected.txt

# What moved between two lists of results. awk needs lines in the first to tell it from the second.
compare() {
    [ -s "$1" ] || { echo "golden: nothing in $1" >&2; exit 2; }
    awk -f "$here/compare.awk" "$1" "$2"
}

# These two need no binary.
case ${1:-} in
compare) compare "$2" "$3"; exit ;;
figures) awk -f "$here/figures.awk"; exit ;;
esac

if [ -z "${IOPILOT:-}" ]; then
    cd "$here/../.."
    IOPILOT=${CARGO_TARGET_DIR:-target}/demo/iopilot
fi
[ -x "$IOPILOT" ] || { echo "golden: no binary at $IOPILOT" >&2; exit 2; }
IOPILOT=$(realpath "$IOPILOT")
KEEP=${KEEP:+$(realpath -m "$KEEP")}
export IOPILOT KEEP LC_ALL=C TZ=UTC NO_COLOR=1
unset LP_PATH
cd "$here/../.." # so that names of files in results are the same everywhere

# What is written for readers is not a result, and is left out: sentences, notes, titles.
without_prose() {
    sed -E -e '/^ *"(text|why|because|claim|goal|ours|title|source|summary|description)": "/d' \
        -e '/^ *"notes": \[\],?$/d' -e '/^ *"notes": \[$/,/^ *\],?$/d'
}

# one NUMBER COMMAND: runs it, and writes its line to $work/NUMBER. A file that it writes is called OUT.<ending> in the
# command and counts as a part of the result; a page (OUT.html) does not.
one() {
    local number=${1%% *} command=${1#* }
    local out=$work/$number.files kept=$work/$number.result
    mkdir "$out"
    eval "set -- ${command//OUT/$out/out}"
    if "$IOPILOT" --quiet "${@:2}" > "$out/stdout" 2> "$work/$number.stderr" < /dev/null; then
        rm -f "$out"/*.html
        { without_prose < "$out/stdout"; find "$out" -type f ! -name stdout -exec cat {} +; } > "$kept"
    fi
    if [ ! -s "$kept" ]; then
        { echo "golden: failed, or told nothing: $command"; sed 's/^/    /' "$work/$number.stderr"; } >&2
        printf '%-16s  %s\n' FAILED "$command" > "$work/$number"
        return
    fi
    local hash=$(sha256sum < "$kept")
    echo "${hash:0:16}  $command" > "$work/$number"
    awk -f "$here/figures.awk" "$out/stdout" >> "$work/$number"
    rm -r "$out"
    if [ -n "${KEEP:-}" ]; then # named by the command, so that `diff -r` of two folders finds its way
        { echo "$command"; cat "$kept"; } > "$KEEP/$(sha256sum <<< "$command" | cut -c 1-12)"
    fi
    rm "$kept"
}

run_all() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    export work
    [ -z "${KEEP:-}" ] || mkdir -p "$KEEP"
    source "$here/cases.sh" > "$work/cases"
    local twice=$(sort "$work/cases" | uniq -d)
    [ -z "$twice" ] || { printf 'golden: listed twice: %s\n' "$twice" >&2; exit 2; }
    awk '{ printf "%04d %s\n", NR, $0 }' "$work/cases" |
        xargs -d '\n' -n 1 -P "${JOBS:-$(nproc)}" bash "$here/run.sh" one
    find "$work" -name '[0-9][0-9][0-9][0-9]' | sort | xargs cat > "$work/results"
    [ "$(grep -c '^[^ ]' "$work/results")" = "$(wc -l < "$work/cases")" ] || { echo "golden: a run got lost" >&2; exit 2; }
}

# Ends where a run failed.
all_ran() {
    ! grep -q '^FAILED' "$work/results" || exit 2
}

case ${1:-print} in
one) one "$2" ;;
list) source "$here/cases.sh" ;;
print) run_all; cat "$work/results"; all_ran ;;
update)
    run_all
    all_ran
    [ ! -s "$expected" ] || compare "$expected" "$work/results" || true
    cp "$work/results" "$expected"
    echo "golden: wrote $(grep -c '^[^ ]' "$expected") hashes to $expected"
    ;;
check) run_all; compare "$expected" "$work/results" ;;
*) echo "usage: run.sh [check|update|list|compare BEFORE AFTER|figures]" >&2; exit 2 ;;
esac
