#!/bin/sh
# Compares what iopilot issues for a fio job with what fio itself does: operation, offset and length of every request.
# Of jobs without randomness all must be the same in the same order, of those that visit every block once in any order; of
# other random ones how many requests, reads and bytes there are, as the random numbers differ. Needs fio and iopilot in PATH, and 1 MiB of disk.
#
#   compare-with-fio.sh            ends with 1 where anything differs
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
failed=0

# requests: operation, offset and length of a log's requests.
requests() { awk '$3 ~ /^(read|write|trim)$/ { print $3, $4, $5 }' "$1"; }
# totals: how many, how many reads, how many bytes.
totals() { requests "$1" | awk '{ n++; r += $1 == "read"; b += $3 } END { print n + 0, r + 0, b + 0 }'; }

# compare exactly|sorted|totals OPTION...: one job of these options on a file of 1 MiB, which for iopilot is the disk's first.
compare() {
    how=$1
    shift
    rm -f theirs ours.iolog
    { printf '[job]\nsize=1m\n'; printf '%s\n' "$@"; } > job.fio
    rm -f disk && head -c 1048576 /dev/zero > disk
    if ! fio --filename=disk --write_iolog=theirs job.fio > fio.out 2>&1; then
        echo "FAILED   $*: fio: $(head -n 1 fio.out)"; failed=1; return
    fi
    { cat job.fio; echo direct=1; } > ours.fio
    if ! iopilot simulate -q -w ours.fio -d hd-250-32 -s fcfs --requests-out ours.iolog > ours.out 2>&1; then
        echo "FAILED   $*: $(cat ours.out)"; failed=1; return
    fi
    case $how in
        exactly) requests theirs > a; requests ours.iolog > b ;;
        sorted) requests theirs | sort > a; requests ours.iolog | sort > b ;;
        totals) totals theirs > a; totals ours.iolog > b ;;
    esac
    if cmp -s a b; then
        echo "same     $*: $(totals ours.iolog | awk '{ print $1 " requests, " $2 " reads, " $3 " bytes" }')"
    else
        echo "DIFFERS  $*: (fio | iopilot)"
        diff --side-by-side --suppress-common-lines --width=70 a b | head -n 5
        failed=1
    fi
}

fio --version
compare exactly rw=read bs=4k
compare exactly rw=write bs=16k
compare exactly rw=read:8k bs=4k io_size=256k
compare exactly rw=read:-8k bs=4k
compare exactly rw=write:4k bs=8k
compare exactly rw=read bs=4k offset=256k size=128k
compare exactly rw=read bs=4k number_ios=100
compare exactly rw=read bs=4k size=64k io_size=256k
compare exactly rw=read bs=4k size=64k loops=3
compare exactly rw=read bs=4k,16k
compare exactly rw=write bs=4k,16k
compare exactly rw=read bs=12k
compare sorted rw=randread bs=4k
compare sorted rw=randwrite bs=8k size=512k
compare sorted rw=randread bs=16k iodepth=8 ioengine=libaio
compare totals rw=randread:8 bs=4k
compare totals rw=randread bs=4k norandommap number_ios=77
compare totals rw=randread bs=4k io_size=128k
compare totals rw=randread bs=4k norandommap random_distribution=zipf:1.1
compare exactly rw=rw rwmixread=0 bs=4k
exit $failed
