#!/usr/bin/env python3
"""Draws the pictures of the explanation pages: python3 docs/images/draw.py. They have a light ground of their own, so
that they can be read on a dark page, too."""

from pathlib import Path

FONT = "font-family='Helvetica,Arial,sans-serif'"
INK, SOFT, BLUE, GREEN, ORANGE, RED = "#1b2733", "#5a6b7b", "#dbe8f6", "#dff0e0", "#fbe8cf", "#f7dcd9"


class Picture:
    def __init__(self, width, height, title):
        self.size, self.title, self.parts = (width, height), title, []

    def text(self, x, y, words, size=13, anchor="middle", colour=INK, bold=False):
        weight = " font-weight='bold'" if bold else ""
        for i, line in enumerate(words.split("\n")):
            self.parts.append(
                f"<text x='{x}' y='{y + i * (size + 4)}' {FONT} font-size='{size}' text-anchor='{anchor}' "
                f"fill='{colour}'{weight}>{line.replace('&', '&amp;').replace('<', '&lt;')}</text>"
            )

    def box(self, x, y, w, h, name, note="", fill=BLUE, dashed=False):
        dash = " stroke-dasharray='5 4'" if dashed else ""
        self.parts.append(
            f"<rect x='{x}' y='{y}' width='{w}' height='{h}' rx='6' fill='{fill}' stroke='{SOFT}'{dash}/>"
        )
        lines = note.count("\n") + 1 if note else 0
        top = y + h / 2 + 5 - lines * 7.5
        self.text(x + w / 2, top, name, 14, bold=True)
        if note:
            self.text(x + w / 2, top + 17, note, 11.5, colour=SOFT)

    def line(self, points, label="", at=None, anchor="middle", dashed=False, arrow=True, colour=INK):
        dash = " stroke-dasharray='5 4'" if dashed else ""
        head = " marker-end='url(#head)'" if arrow else ""
        way = " ".join(f"{x},{y}" for x, y in points)
        self.parts.append(f"<polyline points='{way}' fill='none' stroke='{colour}' stroke-width='1.5'{dash}{head}/>")
        if label:
            x, y = at or ((points[0][0] + points[-1][0]) / 2, (points[0][1] + points[-1][1]) / 2 - 6)
            self.text(x, y, label, 11.5, anchor, SOFT)

    def save(self, name):
        w, h = self.size
        head = (
            "<defs><marker id='head' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7' "
            f"orient='auto-start-reverse'><path d='M0,0 L10,5 L0,10 z' fill='{INK}'/></marker></defs>"
        )
        ground = f"<rect width='{w}' height='{h}' rx='8' fill='#fcfcfa'/>"
        Path(__file__).with_name(name).write_text(
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {w} {h}' width='{w}' height='{h}' role='img'>"
            f"<title>{self.title}</title>{head}{ground}\n" + "\n".join(self.parts) + "\n</svg>\n"
        )


def request_path():
    p = Picture(920, 330, "The path of a request")
    p.box(20, 60, 130, 170, "Source", "a trace that is\nreplayed, a fio job,\na generator:\nprocesses that wait\nand think")
    p.parts.append(f"<rect x='190' y='40' width='500' height='210' rx='8' fill='none' stroke='{SOFT}' stroke-dasharray='3 3'/>")
    p.text(440, 32, "BlockLayer", 14, bold=True)
    for i, (name, note) in enumerate([("split", "too long\nfor the disk"), ("plug", "held for\nneighbours"), ("merge", "joined to a\nneighbour"), ("tag", "or sleep\nuntil one is free")]):
        p.box(205 + i * 120, 60, 105, 62, name, note)
        if i:
            p.line([(190 + i * 120, 91), (205 + i * 120, 91)])
    p.box(445, 165, 225, 62, "Scheduler", "insert · dispatch · completed", GREEN)
    p.line([(617, 122), (617, 165)], "insert", (626, 148), "start")
    p.box(740, 60, 160, 170, "Device", "bus, on-board queue,\ncache, arm, heads,\nrotation; or flash;\nor an array of these", ORANGE)
    p.line([(150, 91), (205, 91)], "arrival", (171, 82))
    p.line([(670, 196), (740, 196)], "dispatch", (705, 188))
    p.line([(820, 230), (820, 290), (85, 290), (85, 230)], "completion: each merged request completes, the tag is freed, the process goes on", (560, 283))
    p.box(205, 165, 160, 62, "Recorder", "makes the RunReport", "#f0f0ee")
    p.line([(285, 290), (285, 227)], dashed=True)
    p.text(460, 318, "All of it runs in virtual time. Each part is a state machine that is handed the time.", 12, colour=SOFT)
    p.save("request-path.svg")


def waiting_for_a_tag():
    p = Picture(920, 350, "Waiting for a tag")
    p.box(20, 40, 190, 62, "Task B wants to submit", "no tag is free", RED)
    p.line([(210, 71), (262, 71)], "sleeps", (236, 62))
    p.text(375, 30, "eight wait queues, used in turn", 13, bold=True)
    for i in range(8):
        p.parts.append(f"<rect x='264' y='{40 + i * 22}' width='222' height='18' rx='3' fill='{BLUE}' stroke='{SOFT}'/>")
        for j in range([2, 1, 2, 1, 1, 2, 1, 1][i]):
            p.parts.append(f"<circle cx='{278 + j * 18}' cy='{49 + i * 22}' r='6' fill='#7f9dbd'/>")
    p.box(620, 40, 280, 62, "A request of task A completes", "its tag becomes free", GREEN)
    p.line([(620, 86), (486, 100)], "wakes some sleepers\nof the next queue", (553, 66))
    p.box(620, 150, 280, 62, "Task A goes on", "it wants a tag for its next request", GREEN)
    p.line([(760, 102), (760, 150)], "wakes", (770, 130), "start")
    p.box(395, 270, 250, 58, "one free tag", "the first to ask has it", ORANGE)
    p.line([(375, 216), (375, 299), (395, 299)], "the woken\nsleeper asks", (365, 252), "end")
    p.line([(760, 212), (760, 299), (645, 299)], "task A asks", (770, 262), "start")
    p.line([(395, 318), (120, 318), (120, 102)], "a task that finds none sleeps again, at the end of the next queue", (20, 342), "start", dashed=True)
    p.save("waiting-for-a-tag.svg")


def autopilot_timeline():
    p = Picture(920, 330, "The autopilot's timeline")
    p.line([(30, 290), (900, 290)], "time", (890, 310))
    for i in range(4):
        x = 70 + i * 250
        p.line([(x, 40), (x, 296)], dashed=True, arrow=False, colour=SOFT)
        p.text(x, 312, f"{5 * i} s", 12, colour=SOFT)
    p.text(24, 62, "traffic", 13, "start", bold=True)
    p.box(76, 45, 241, 34, "window 1", fill=BLUE)
    p.box(323, 45, 244, 34, "window 2", fill=BLUE)
    p.box(573, 45, 244, 34, "window 3", fill=BLUE)
    p.text(24, 112, "trials", 13, "start", bold=True)
    p.line([(250, 79), (324, 104)], "simulated on\nwindow 1", (268, 112), "end")
    for i, (name, cost, fill) in enumerate([("none", 44, RED), ("mq-deadline", 34, GREEN), ("kyber", 45, RED), ("bfq", 47, RED)]):
        p.parts.append(f"<rect x='328' y='{96 + i * 22}' width='{cost * 1.6:.0f}' height='17' rx='3' fill='{fill}' stroke='{SOFT}'/>")
        p.text(412, 109 + i * 22, f"{name}: cost {cost} s", 11.5, "start")
    p.line([(340, 184), (340, 233)], "change to the best, if it saves enough", (350, 212), "start")
    p.text(24, 258, "in use", 13, "start", bold=True)
    p.box(76, 237, 262, 34, "none", fill=RED)
    p.box(340, 237, 36, 34, "", "", ORANGE)
    p.box(378, 237, 440, 34, "mq-deadline", fill=GREEN)
    p.text(340, 285, "the queue drains, and 22 ms", 11, "start", SOFT)
    p.text(695, 112, "next check: did the change save\nwhat was predicted?", 11.5, "middle", SOFT)
    p.save("autopilot-timeline.svg")


def vdisk_threads():
    p = Picture(920, 360, "The threads of a virtual disk")
    p.text(20, 30, "kernel", 13, "start", bold=True)
    p.box(20, 44, 150, 58, "a process", "reads and writes", "#f0f0ee")
    p.box(210, 44, 190, 58, "block layer", "scheduler, tags", "#f0f0ee")
    p.box(440, 44, 190, 58, "loop device", "a disk of one file", "#f0f0ee")
    p.box(670, 44, 230, 58, "FUSE", "a file that the server serves", "#f0f0ee")
    for a, b in [(170, 210), (400, 440), (630, 670)]:
        p.line([(a, 73), (b, 73)])
    p.parts.append(f"<rect x='20' y='140' width='880' height='200' rx='8' fill='none' stroke='{SOFT}' stroke-dasharray='3 3'/>")
    p.text(34, 332, "server process: iopilot vdisk", 13, "start", bold=True)
    p.box(640, 165, 235, 66, "four request threads", "1. hand the request to the model\n2. move its data", BLUE)
    p.line([(785, 102), (785, 165)], "requests", (795, 128), "start")
    p.box(375, 165, 180, 66, "model", "says when each\nrequest is done", ORANGE)
    p.line([(640, 186), (555, 186)], "arrived at t", (598, 178))
    p.box(640, 262, 235, 50, "backing file", "the data", "#f0f0ee")
    p.line([(757, 231), (757, 262)])
    p.box(60, 165, 230, 66, "timekeeper thread", "SCHED_FIFO; sleeps, then looks\nat the clock until the time", GREEN)
    p.line([(375, 186), (290, 186)], "next event", (332, 178))
    p.line([(290, 214), (375, 214)], "advance", (332, 228))
    p.line([(175, 165), (175, 120), (700, 120), (700, 102)], "answers, when the model is done and the data are moved", (440, 115))
    p.save("vdisk-threads.svg")


def host():
    p = Picture(920, 380, "The host: processes on files")
    p.parts.append(f"<rect x='190' y='40' width='560' height='260' rx='8' fill='none' stroke='{SOFT}' stroke-dasharray='3 3'/>")
    p.text(470, 32, "Host", 14, bold=True)
    p.box(20, 60, 140, 88, "Programs", "events, each after\nso much computation")
    p.box(210, 60, 150, 88, "CPUs", "run queue, interrupts,\nwhat each costs", "#f0f0ee")
    p.box(420, 60, 150, 88, "System calls", "planned as steps;\na step is tried until\nit is done")
    p.box(600, 60, 135, 88, "File system", "where pages are,\nwhich metadata\nsay so", GREEN)
    p.box(420, 195, 150, 88, "Page cache", "data and metadata:\nclean, dirty,\nbeing read, written", GREEN)
    p.box(210, 195, 150, 88, "Syncer", "a process that\nsweeps once a second")
    p.box(790, 195, 115, 88, "Block layer", "scheduler,\ndevice", ORANGE)
    p.line([(160, 104), (210, 104)])
    p.line([(360, 104), (420, 104)], "calls", (390, 96))
    p.line([(570, 104), (600, 104)])
    p.line([(480, 148), (480, 195)], "wants pages", (472, 175), "end")
    p.line([(510, 195), (510, 148)], "there, or wait", (518, 175), "start")
    p.line([(360, 239), (420, 239)], "dirty?", (390, 231))
    p.line([(570, 225), (790, 225)], "requests, with their class", (670, 217))
    p.line([(570, 257), (790, 257)], "somebody waits for it now", (670, 273), dashed=True)
    p.line([(848, 283), (848, 335), (175, 335), (175, 130), (210, 130)], "completion: an interrupt; the page is there, or clean; its waiter can run", (510, 328))
    p.text(460, 365, "A program says what it wants. What reaches the disk, when, and who waits for it comes out.", 12, colour=SOFT)
    p.save("host.svg")


def crates():
    p = Picture(920, 606, "The crates")
    def crate(x, y, w, name, note, fill=BLUE, dashed=False):
        p.box(x, y, w, 56, name, note, fill, dashed)
    crate(330, 20, 260, "iopilot", "the command: arguments, tables, pages", GREEN)
    crate(680, 20, 210, "iopilot-fuzz", "parsers under damaged input", "#f0f0ee")
    crate(30, 20, 210, "iopilot-lab", "experiments", ORANGE)
    crate(20, 110, 100, "iopilot-tune", "searches")
    crate(130, 110, 130, "iopilot-compare", "verdicts, spreads")
    crate(275, 110, 180, "iopilot-live", "capture, queues, virtual disks")
    crate(480, 110, 220, "iopilot-dads", "the autopilot")
    crate(730, 110, 160, "iopilot-render", "tables, charts", "#f0f0ee")
    crate(350, 200, 250, "iopilot-sim", "event loop, block layer, machines")
    crate(20, 200, 145, "iopilot-calibrate", "fits to measurements")
    crate(175, 200, 145, "iopilot-disksim", "DiskSim's files")
    crate(30, 290, 260, "iopilot-catalogue", "descriptions, probing, tables")
    crate(350, 290, 250, "iopilot-workload", "replay, fio jobs, generators")
    crate(680, 290, 210, "iopilot-host", "CPUs, page cache, files")
    crate(30, 380, 260, "iopilot-scsi", "full drive, bus, controllers")
    crate(350, 380, 190, "iopilot-trace", "formats in and out")
    crate(680, 380, 210, "iopilot-redcap", "a disk cache in RAM")
    crate(30, 470, 260, "iopilot-device", "disks, flash, arrays")
    crate(350, 470, 190, "iopilot-sched", "the schedulers")
    p.box(30, 560, 860, 34, "iopilot-block: requests, times, addresses, queues", fill=BLUE)
    # Each arrow leads to what a crate uses.
    p.line([(330, 40), (240, 40)])
    p.line([(590, 60), (730, 125)])
    p.line([(420, 76), (365, 110)])
    p.line([(500, 76), (560, 110)])
    p.line([(455, 138), (480, 138)])
    p.line([(120, 138), (130, 138)])
    p.line([(330, 70), (130, 96), (70, 110)])
    p.line([(190, 76), (190, 110)])
    p.line([(230, 76), (300, 110)])
    p.line([(330, 62), (255, 110)])
    p.line([(330, 54), (267, 96), (267, 200)])
    p.line([(267, 180), (140, 200)])
    p.line([(230, 166), (330, 190), (350, 212)])
    p.line([(560, 166), (520, 200)])
    p.line([(370, 166), (420, 200)])
    p.line([(475, 256), (475, 290)])
    p.line([(350, 232), (280, 290)])
    p.line([(375, 256), (322, 280), (322, 488), (350, 488)])
    p.line([(90, 256), (90, 290)])
    p.line([(230, 256), (210, 290)])
    p.line([(445, 346), (445, 380)])
    p.line([(600, 318), (680, 318)])
    p.line([(160, 346), (160, 380)])
    p.line([(160, 436), (160, 470)])
    p.line([(290, 505), (350, 505)])
    p.line([(600, 240), (640, 270), (660, 395), (680, 405)])
    p.line([(540, 408), (600, 430), (600, 560)])
    p.line([(890, 330), (905, 345), (905, 577), (890, 577)])
    for x in (160, 445):
        p.line([(x, 526), (x, 560)])
    p.line([(785, 436), (785, 560)])
    p.save("crates.svg")


for draw in (request_path, waiting_for_a_tag, autopilot_timeline, vdisk_threads, host, crates):
    draw()
