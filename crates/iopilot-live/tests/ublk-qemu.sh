#!/bin/sh
# Virtual disks by ublk on a kernel that has it, under qemu: for machines whose own kernel has not.
#
#   cargo build -p iopilot --features ublk      # and cargo test -p iopilot-live --features ublk --test vdisk_live --no-run
#   crates/iopilot-live/tests/ublk-qemu.sh VMLINUZ MODULES target/debug/iopilot [target/debug/deps/vdisk_live-...]
#
# VMLINUZ is a kernel of 6.4 or later with io_uring, MODULES its folder /lib/modules/VERSION, of which ublk_drv (and
# what it needs, where it is a module) is taken; the test program is run there too. Needs qemu-system-x86_64, a static busybox, cpio and xz. Ends with 0
# where the disk did what it should.
set -eu
[ $# = 3 ] || [ $# = 4 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
kernel=$1 modules=$2 program=$3 tests=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

root=$folder/root
mkdir -p "$root/bin" "$root/lib" "$root/lib64" "$root/modules" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/run"
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$program" "$root/bin/iopilot"
strip "$root/bin/iopilot" 2>/dev/null || true
if [ -n "$tests" ]; then cp "$tests" "$root/bin/tests"; fi
for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
find "$modules" -name 'ublk_drv.ko*' -exec cp {} "$root/modules/" \;
find "$root/modules" -name '*.xz' -exec xz -d {} +

cat > "$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
mount -t tmpfs none /run
exec </dev/console >/dev/console 2>&1
echo "kernel $(uname -r)"
failures=0
check() { # what, whether
    if [ "$2" = 0 ]; then echo "ok: $1"; else echo "FAILED: $1"; failures=$((failures + 1)); fi
}
is() { # what, found, expected
    [ "$2" = "$3" ]; check "$1 is $2, expected $3" $?
}
attach() { timeout 60 iopilot vdisk attach --via ublk "$@"; }
until_true() { # condition: half a minute at most, and the check that follows says what is wrong
    tries=0
    until eval "$1" || [ $tries = 30 ]; do tries=$((tries + 1)); sleep 1; done
}
no_server() { ! pidof iopilot >/dev/null; }
end() {
    echo "failures: $failures"
    [ "$failures" = 0 ] && echo ALL-WELL
    poweroff -f
}

attach --disk none --size 16M --backing /tmp/n.img; is 'without the module: exit status' $? 2
insmod /modules/ublk_drv.ko; check 'the module' $?

# The whole life of a disk.
disk=$(attach --disk hd-500-16 --size 256M --depth 8 --backing /tmp/x.img --time-scale 10)
is 'device' "$disk" /dev/ublkb0
queue=/sys/block/ublkb0/queue
for attribute in nr_requests scheduler rotational logical_block_size physical_block_size max_sectors_kb \
    max_hw_sectors_kb discard_granularity discard_max_bytes write_zeroes_max_bytes write_cache fua nr_hw_queues; do
    echo "$attribute: $(cat $queue/$attribute 2>&1)"
done
is rotational "$(cat $queue/rotational)" 1
is 'write cache' "$(cat $queue/write_cache)" 'write back'
is sectors "$(cat /sys/block/ublkb0/size)" 524288
is 'hardware queues' "$(ls /sys/block/ublkb0/mq | wc -l)" 1
is 'tags' "$(cat /sys/block/ublkb0/mq/0/nr_tags)" 8
is 'max_sectors_kb, hardware' "$(cat $queue/max_hw_sectors_kb)" 1024
dd if=/dev/urandom of=/tmp/data bs=1M count=24 2>/dev/null
dd if=/tmp/data of=$disk bs=1M oflag=direct conv=fsync,notrunc 2>/dev/null; check 'writing 24 MiB past the page cache' $?
dd if=$disk of=/tmp/copy bs=1M count=24 iflag=direct 2>/dev/null; cmp /tmp/data /tmp/copy; check 'reading it back' $?
dd if=/tmp/data of=$disk bs=4k seek=50000 count=500 conv=fsync,notrunc 2>/dev/null; check 'writing through the cache' $?
echo 3 > /proc/sys/vm/drop_caches
dd if=$disk of=/tmp/copy bs=4k skip=50000 count=500 2>/dev/null
head -c 2048000 /tmp/data | cmp - /tmp/copy; check 'reading that back' $?
for n in 1 2 3 4 5 6; do dd if=$disk of=/tmp/part$n bs=64k skip=$((n * 16)) count=16 iflag=direct 2>/dev/null & done
wait
for n in 1 2 3 4 5 6; do dd if=/tmp/data bs=64k skip=$((n * 16)) count=16 2>/dev/null | cmp - /tmp/part$n; check "reader $n of 6" $?; done
blkdiscard -o 1048576 -l 1048576 $disk; check discard $?
dd if=$disk bs=1M skip=1 count=1 iflag=direct 2>/dev/null | tr -d '\0' | wc -c > /tmp/left; is 'bytes left of it' "$(cat /tmp/left)" 0
if command -v fallocate >/dev/null && fallocate -p -o 3145728 -l 4096 $disk 2>/dev/null; then
    dd if=$disk bs=4k skip=768 count=1 iflag=direct 2>/dev/null | tr -d '\0' | wc -c > /tmp/left
    is 'bytes left after zeroing' "$(cat /tmp/left)" 0
fi
iopilot vdisk list; check list $?
iopilot vdisk stats vd0; check stats $?
[ "$(iopilot vdisk stats --json vd0 | grep -c '"discard": [1-9]')" -ge 1 ]; check 'discards are counted' $?
timeout 60 iopilot vdisk detach $disk; check detach $?
[ ! -e /dev/ublkb0 ] && [ ! -e /dev/ublkc0 ]; check 'the device is gone' $?
until_true no_server
is 'servers left' "$(pidof iopilot | wc -w)" 0

# The data stay; a server that is killed is cleared away after.
disk=$(attach --disk hd-500-16 --backing /tmp/x.img --time-scale 10); is 'second attach' "$disk" /dev/ublkb0
dd if=$disk of=/tmp/copy bs=1M skip=4 count=20 iflag=direct 2>/dev/null
tail -c 20971520 /tmp/data | cmp - /tmp/copy; check 'the data are still there' $?
echo none > $queue/scheduler; cat $queue/nr_requests
(dd if=$disk of=/dev/null bs=64k iflag=direct 2>/dev/null; echo "a reader meanwhile ended with $?") &
sleep 1
kill -9 $(pidof iopilot)
wait
sleep 1
echo "after kill -9: $(ls -d /dev/ublk* /run/iopilot/vdisk/* | tr '\n' ' ')"
[ -e /dev/ublkc0 ]; check 'something is left' $?
disk=$(attach --disk hd-500-16 --backing /tmp/x.img --time-scale 10); is 'attach after kill -9' "$disk" /dev/ublkb0
is 'devices' "$(ls -d /dev/ublkc* | wc -l)" 1
kill -9 $(pidof iopilot); until_true no_server
is 'list after kill -9' "$(iopilot vdisk list --json)" '[]'
[ ! -e /dev/ublkc0 ]; check 'list cleared it away' $?

if [ -e /bin/tests ]; then tests --nocapture ublk; check 'tests of the library' $?; fi

# A disk that waits for nothing, a second one beside it, signals, users, depths.
one=$(attach --disk none --size 64M --depth 1 --backing /tmp/a.img --scheduler none); check 'depth 1' $?
two=$(attach --disk ssd-64-simple --size 64M --depth 4096 --backing /tmp/b.img); check 'depth 4096' $?
is 'two devices' "$one $two" '/dev/ublkb0 /dev/ublkb1'
is 'flash: rotational' "$(cat /sys/block/ublkb1/queue/rotational)" 0
dd if=/tmp/data of=$one bs=1M count=16 oflag=direct 2>/dev/null && dd if=$one of=$two bs=1M count=16 iflag=direct conv=fsync 2>/dev/null
dd if=$two of=/tmp/copy bs=1M count=16 iflag=direct 2>/dev/null; head -c 16777216 /tmp/data | cmp - /tmp/copy; check 'copied from one to the other' $?
attach --disk none --size 16M --depth 4097 --backing /tmp/c.img; is 'depth 4097: exit status' $? 2
mkswap $one >/dev/null && swapon $one; check 'swap on it' $?
timeout 60 iopilot vdisk detach $one; is 'detach of one in use: exit status' $? 2
swapoff $one; check 'no swap on it' $?
(exec 9<$two; sleep 40) & holder=$!
until_true '[ -e /proc/$holder/fd/9 ]'
timeout 60 iopilot vdisk detach --force $two; check 'detach while one has it open' $?
kill $holder 2>/dev/null
kill $(pidof iopilot); until_true 'no_server && [ ! -e /dev/ublkc0 ] && [ ! -e /dev/ublkc1 ]'
is 'servers after SIGTERM' "$(pidof iopilot | wc -w)" 0
is 'devices after SIGTERM' "$(ls -d /dev/ublk* | tr '\n' ' ')" '/dev/ublk-control '
is 'notes after SIGTERM' "$(ls -d /run/iopilot/vdisk/vd* 2>/dev/null | wc -l)" 0
dmesg | grep -E 'BUG:|WARNING:|Oops|I/O error|blocked for more' > /tmp/complaints; grep -v 'ublkb0, sector [0-9]* op 0x0:(READ)' /tmp/complaints ; [ $? = 1 ]; check 'the kernel has nothing to complain of' $?
end
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$folder/initrd"
timeout "${SECONDS_AT_MOST:-300}" qemu-system-x86_64 -m 2048 -smp 2 -nographic -no-reboot -kernel "$kernel" \
    -initrd "$folder/initrd" -append 'console=ttyS0 quiet panic=-1' </dev/null | tee "$folder/output"
grep -q ALL-WELL "$folder/output"
