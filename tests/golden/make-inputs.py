#!/usr/bin/env python3
"""Writes the small traces of tests/golden/inputs: the same load in every format that iopilot reads.

They are committed, so nobody needs to run this. It says where they come from, and makes them again where a format
changes:  python3 tests/golden/make-inputs.py
"""
import gzip
import lzma
import pathlib
import struct

OUT = pathlib.Path(__file__).parent / "inputs"
state = 20080624


def draw(n):
    """A number below n: Knuth's 64-bit generator, so that every Python writes the same files."""
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 33) % n


class Request:
    def __init__(self, at, op, lba, sectors, pid, took):
        self.at, self.op, self.lba, self.sectors, self.pid = at, op, lba, sectors, pid
        self.issue, self.done = at + 20_000, at + 20_000 + took

    def read(self):
        return self.op == "R"


def load(last, end):
    """Four processes on a disk of `end` sectors: streams, scattered reads, bursts of writes, a log with flushes."""
    requests = []
    now, lba = 0, 0
    while now < last:  # a stream of 64 KiB that thinks for a millisecond
        requests.append(Request(now, "R", lba % (end - 128), min(128, end // 40), 301, 600_000 + draw(4_000_000)))
        lba += 128
        now = requests[-1].done + 1_000_000
    now = 300_000
    while now < last:  # scattered reads of 4 to 16 KiB
        place = draw(end // 8 - 8) * 8
        requests.append(Request(now, "R", place, 8 << draw(3), 302, 2_000_000 + draw(12_000_000)))
        now = requests[-1].done + draw(3_000_000)
    now = 2_000_000
    while now < last:  # bursts of four neighbours, for which nobody waits
        place = draw(end // 8 - 8) * 8
        for i in range(4):
            requests.append(Request(now + i * 3_000, "W", place + 8 * i, 8, 303, 3_000_000 + draw(9_000_000)))
        now += 25_000_000 + draw(30_000_000)
    now, lba = 5_000_000, end // 2
    while now < last:  # a log
        requests.append(Request(now, "WS", lba, 16, 304, 1_000_000 + draw(6_000_000)))
        lba += 16
        now = requests[-1].done + 8_000_000
    return sorted(requests, key=lambda r: (r.at, r.pid))


def text(name, lines):
    data = "".join(line + "\n" for line in lines).encode()
    if name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    elif name.endswith(".xz"):
        data = lzma.compress(data)
    (OUT / name).write_bytes(data)


def direction(r, read, write):
    return read if r.read() else write


def by_service(requests):
    """DiskSim's validation traces: one request at a time."""
    for r, after in zip(requests, requests[1:] + requests[-1:]):
        think = max(0, after.at - r.done) / 1000
        yield f"{direction(r, 'R', 'W')} {direction(r, 'Miss', 'Doub')} {r.lba} {r.sectors} {(r.done - r.at) / 1000:.1f} {think:.1f}"


def blkparse(requests):
    events = []
    for r in requests:
        for when, pid, action in ((r.at, r.pid, "Q"), (r.issue, r.pid, "D"), (r.done, 0, "C")):
            name = f"job{r.pid}" if pid else "0"
            events.append((when, f"{pid:5}  {action:>1} {r.op:>3} {r.lba} + {r.sectors} [{name}]", r.pid % 2))
    for number, (when, rest, cpu) in enumerate(sorted(events), 1):
        yield f"  8,0    {cpu} {number:8}   {when // 10**9:5}.{when % 10**9:09} {rest}"


def blktrace(requests):
    events = []
    for r in requests:
        kind = 1 << 16 if r.read() else 1 << 17
        kind |= 1 << 19 if r.op == "WS" else 0
        for when, pid, action in ((r.at, r.pid, 1 | 1 << 20), (r.issue, r.pid, 7 | 1 << 22), (r.done, 0, 8 | 1 << 23)):
            events.append((when, r.lba, r.sectors * 512, action | kind, pid, r.pid % 2))
    out = b""
    for number, (when, lba, size, action, pid, cpu) in enumerate(sorted(events), 1):
        out += struct.pack("<IIQQIIIIIHH", 0x65617407, number, when, lba, size, action, pid, 8 << 20, cpu, 0, 0)
    return out


def hp_srt(requests):
    out = b"$$TR_IOREC-1.3\ndisks = { 0 -> { disktype = hp335h, sectorsize = 512 } };\n\x0c"
    for r in requests:
        flags = direction(r, 1, 0x0100_0000 if r.op == "WS" else 0x100)
        words = (56, 0x4_0001, r.at // 10**9, r.at // 1000 % 10**6, 20, (r.done - r.at) // 1000, r.sectors * 512, r.lba)
        out += struct.pack(">14i", *words, 8, 4, 1, flags, 0, 1)
    return out


def vscsi(requests):
    out = b""
    for n, r in enumerate(requests):
        out += struct.pack("<IIIHHQQ", n + 1, r.sectors * 512, 1, direction(r, 0x28, 0x2A), 0x100, r.lba, r.at // 1000)
    return out


def main():
    whole = load(400_000_000, 2_000_000)
    ms = [(r, r.at / 1e6) for r in whole]
    text("load.blkparse.gz", blkparse(whole))
    (OUT / "load.blktrace").write_bytes(blktrace(whole))
    text("load.disksim", (f"{t:.6f} 0 {r.lba} {r.sectors} {direction(r, 1, 0)}" for r, t in ms))
    text("load.disksim-validate", by_service(whole))
    (OUT / "load.hp-srt").write_bytes(hp_srt(whole))
    text("load.msr", (f"{128166372003061629 + r.at // 100},usr,0,{direction(r, 'Read', 'Write')},{r.lba * 512},"
                      f"{r.sectors * 512},{(r.done - r.at) // 100}" for r in whole))
    text("load.msr-ms", (f"{t:.3f} 0 {r.lba * 512} {r.sectors * 512} {direction(r, 1, 0)}" for r, t in ms))
    text("load.spc", (f"0,{r.lba},{r.sectors * 512},{direction(r, 'R', 'W')},{r.at / 1e9:.6f}" for r in whole))
    (OUT / "load.vscsi").write_bytes(vscsi(whole))
    text("load.cloudphysics.xz", ["version,time,op,size,lbn"] + [
        f"1,{r.at // 10**9}.{r.at // 1000 % 10**6:06},{direction(r, '28', '2a')},{r.sectors * 512},{r.lba}" for r in whole])
    text("load.mqsim", (f"{r.at} 0 {r.lba} {r.sectors} {direction(r, 1, 0)}" for r in whole))
    text("load.alibaba", (f"0,{direction(r, 'R', 'W')},{r.lba * 512},{r.sectors * 512},{r.at // 1000}" for r in whole))
    text("load.iolog-3", ["fio version 3 iolog", "0 disk add"] + [
        f"{r.at // 1000} disk {direction(r, 'read', 'write')} {r.lba * 512} {r.sectors * 512}" for r in whole])
    text("load.iolog-2", ["fio version 2 iolog", "disk add"] + [
        line for r in whole[:60] for line in ("disk wait 900",
                                            f"disk {direction(r, 'read', 'write')} {r.lba * 512} {r.sectors * 512}")])

    # For the drive of crates/iopilot-disksim/tests/files, which has 2678 blocks; two of them where a device is named.
    tiny = load(900_000_000, 2_400)
    ms = [(r, r.at / 1e5) for r in tiny]  # ten times as slow as the load above, as is the drive
    flags = {"R": 3, "W": 0, "WS": 2}
    text("tiny.ascii", (f"{t:.6f} 0 {r.lba} {r.sectors} {flags[r.op]:x}" for r, t in ms))
    text("tiny.batch", (f"{t:.6f} 0 {r.lba} {r.sectors} {flags[r.op]:x} {n // 3}" for n, (r, t) in enumerate(ms)))
    text("tiny.emcsymm", (f"{t:.6f} {direction(r, 'Read', 'Write')} 1f 0 {r.lba} {r.sectors}" for r, t in ms))
    text("tiny.emcbackend", (f"{t / 1e3:.9f} {direction(r, 'Read', 'Write')} 1f 0 {r.lba} {r.sectors} C 3 0"
                             for r, t in ms))
    text("tiny.validate", by_service(tiny))


main()
