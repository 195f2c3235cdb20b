#!/bin/sh
# Makes the traces of this folder: real programs on a fresh ext4 file system on a loop device, recorded with
# `iopilot trace record`. Needs root, loop devices, tracefs, and 4 GB in DIRECTORY. About three minutes.
#
#   make-traces.sh [DIRECTORY [OUTPUT [RECORDER...]]]
#
# DIRECTORY (/var/tmp) holds the disk image, OUTPUT (the folder of this script) receives the traces. RECORDER is what is
# given `/dev/X -o FILE -- COMMAND`. The page cache of the whole machine is dropped before each recording.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
base=${1:-/var/tmp}
out=${2:-$here}
if [ $# -gt 2 ]; then shift 2; else set -- iopilot trace record; fi

work=$(mktemp -d "$base/iopilot-traces-XXXXXX")
disk=
mounted=
tracing=
clean_up() {
    cd /
    [ -z "$mounted" ] || umount "$work/mnt" || umount -l "$work/mnt"
    [ -z "$disk" ] || losetup -d "$disk"
    rm -rf "$work"
    [ -z "$tracing" ] || umount /sys/kernel/tracing
}
trap clean_up EXIT
trap 'exit 130' INT TERM

if [ ! -d /sys/kernel/tracing/instances ]; then
    mount -t tracefs tracefs /sys/kernel/tracing
    tracing=mounted
fi

# A disk of 64 GB, sparse, that the kernel takes for a rotating one, with its defaults for such a disk.
truncate -s 64G "$work/disk.img"
disk=$(losetup -f --show "$work/disk.img")
queue=/sys/block/${disk#/dev/}/queue
echo mq-deadline > "$queue/scheduler"
echo 1 > "$queue/rotational"
echo 128 > "$queue/read_ahead_kb"
mkfs.ext4 -q -F "$disk"
mkdir "$work/mnt"
mount "$disk" "$work/mnt"
mounted=yes
mnt=$work/mnt

# A compiler and what it needs, two source trees, an archive, a log and a media file.
gcc_dir=$(dirname "$(gcc -print-prog-name=cc1)")
mkdir "$mnt/gcc" "$mnt/objects" "$mnt/db" "$mnt/unpacked" "$mnt/tmp"
cp "$gcc_dir/cc1" "$(command -v as)" "$(command -v ld)" "$mnt/gcc/"
cp -r "$gcc_dir/include" "$mnt/gcc/include"
cp -r /usr/include "$mnt/include"
cp -r "${SOURCES:-$HOME/.cargo/registry/src}" "$mnt/sources"
zstd=$(dirname "$(find "$mnt/sources" -name zstd_compress.c | head -n 1)")/..
tar cf "$mnt/archive.tar" -C /usr/include .
for i in $(seq 1 8); do find "$mnt/sources" -type f -name '*.rs' -exec cat {} + 2>/dev/null | head -c 12000000; done 2>/dev/null > "$mnt/log"
head -c 200000000 /dev/zero | openssl enc -aes-128-ctr -pass pass:media -nosalt 2>/dev/null > "$mnt/media"

cat > "$mnt/compile.mk" <<'MAKE'
sources := $(wildcard $(ZSTD)/common/*.c $(ZSTD)/compress/*.c $(ZSTD)/decompress/*.c $(ZSTD)/dictBuilder/*.c)
objects := $(patsubst %.c,$(MNT)/objects/%.o,$(notdir $(sources)))
vpath %.c $(sort $(dir $(sources)))
$(MNT)/objects/all.a: $(objects)
	ar rcs $@ $^
$(MNT)/objects/%.o: %.c
	gcc -B$(MNT)/gcc/ -nostdinc -isystem $(MNT)/gcc/include -isystem $(MNT)/include \
	    -isystem $(MNT)/include/x86_64-linux-gnu -DZSTD_DISABLE_ASM -O1 -c -o $@ $<
MAKE

cat > "$mnt/fill.sql" <<'SQL'
PRAGMA journal_mode = WAL;
CREATE TABLE t (id INTEGER PRIMARY KEY, key INTEGER, body BLOB);
CREATE INDEX t_key ON t (key);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
INSERT INTO t SELECT i, (i * 7919) % 1000003, zeroblob(400) FROM n;
PRAGMA wal_checkpoint(TRUNCATE);
SQL
sqlite3 "$mnt/db/base" < "$mnt/fill.sql" > /dev/null

# 400 look-ups by a key that jumps about, and 150 durable transactions among them.
awk 'BEGIN {
    for (i = 1; i <= 400; i++) {
        printf "SELECT sum(length(body)) FROM t WHERE key BETWEEN %d AND %d;\n", (i * 611953) % 1000003, (i * 611953) % 1000003 + 60
        if (i % 8 < 3) printf "UPDATE t SET body = randomblob(400) WHERE key BETWEEN %d AND %d;\n", (i * 391) % 1000003, (i * 391) % 1000003 + 40
    }
}' > "$mnt/queries.sql"

tree="cd $mnt/sources && find . -type f -name '*.rs' -print0 | xargs -0 -n 100 cat > /dev/null"
compile="TMPDIR=$mnt/tmp make -s -j2 -f $mnt/compile.mk MNT=$mnt ZSTD=$zstd"
sqlite="sqlite3 $mnt/db/base < $mnt/queries.sql > /dev/null"
untar="tar xf $mnt/archive.tar -C $mnt/unpacked && sync -f $mnt/unpacked"
backward="tac $mnt/log > /dev/null"
forward="cat $mnt/media > /dev/null"

# take NAME COMMAND: records COMMAND with a cold page cache.
take() {
    name=$1 command=$2
    shift 2
    rm -rf "$mnt/objects" "$mnt/unpacked" && mkdir "$mnt/objects" "$mnt/unpacked"
    sync
    echo 3 > /proc/sys/vm/drop_caches
    sleep 1
    echo "$name"
    "$@" "$disk" -o "$out/$name.parquet" -- sh -c "$command"
}

take source-tree-read "$tree" "$@"
take compile "$compile" "$@"
take sqlite "$sqlite" "$@"
take tar "$untar" "$@"
take backward-read "$backward" "$@"
take mixed "($tree) & ($compile) & ($sqlite) & ($untar) & ($backward) & ($forward) & wait" "$@"
