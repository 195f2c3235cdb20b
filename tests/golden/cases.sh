# Prints the runs, one command a line; run.sh reads it. All inputs are in the repository, no run needs root, and few
# take more than a second. What is written to OUT.<ending> is a part of the result.

inputs=tests/golden/inputs
jobs=examples/jobs
traces=examples/traces
machines=examples/machines
tiny=crates/iopilot-disksim/tests/files

# From the binary, so that whatever is added is run, too.
disks=$("$IOPILOT" disk list | awk 'NR > 1 { print $1 }')
positional=$("$IOPILOT" scheduler list | awk 'NF == 0 { exit } NR > 1 && $2 == "positional" { print $1 }')
general=$("$IOPILOT" scheduler list | awk 'NF == 0 { exit } NR > 1 && $2 != "positional" { print $1 }')
four="-s deadline -s cfq -s mq-deadline -s bfq"

simulate() { echo "iopilot simulate --json -w $*"; }
json() { echo "iopilot $* --json"; }

listings() {
    local name
    json scheduler list
    for name in $general $positional; do json scheduler show "$name"; done
    json disk list
    for name in $disks $tiny/tiny.diskspecs $inputs/table-2.toml $inputs/table-3.toml; do json disk show "$name"; done
}

# Each scheduler alone, with its defaults.
schedulers() {
    local name machine load
    for name in $general; do
        for machine in "-d hd-250-32" "-d wd1200bb" "-d ssd-160" "-d momentus-xt-750g" "-d $inputs/table-3.toml" \
            "-m $machines/carroll-raid5-5.toml" "-m $inputs/few-tags.toml"; do
            for load in $inputs/load.blktrace $inputs/everything.fio; do simulate $load $machine -s $name; done
        done
        simulate $inputs/closed.toml -m $inputs/raid10-halves.toml -s $name --seed 1
        simulate $traces/mixed.parquet -d hd-500-16 -s $name --limit 3000
        simulate $inputs/load.blkparse.gz -m $inputs/depth-1.toml -s $name --requests-out OUT.msr
    done
    for name in $positional; do
        for machine in "-d hd-250-32" "-d hp-c2247" "-d wd1200bb" "-m $inputs/few-tags.toml"; do
            for load in $inputs/load.blktrace $inputs/everything.fio; do simulate $load $machine -s $name; done
        done
        simulate $inputs/load.blkparse.gz -m $inputs/depth-1.toml -s $name --requests-out OUT.msr
    done
}

tunables() {
    local set policy
    for set in deadline:read_expire=20:write_expire=50 deadline:fifo_batch=1 deadline:writes_starved=0:front_merges=0 \
        deadline:linux_2_6_23=1 as:antic_expire=0 as:antic_expire=20 as:read_batch_expire=50:write_batch_expire=20 \
        as:linux_2_6_23=1 cfq:slice_idle=0 cfq:quantum=16:slice_sync=40 cfq:slice_async_rq=8:fifo_expire_sync=20 \
        cfq:back_seek_max=0 vscan:r=0 vscan:r=1 vr:rev_penalty=0 vr:rev_penalty=1:sync_expire=0 vr:fifo_batch=2 \
        mq-deadline:fifo_batch=1 mq-deadline:async_depth=4 mq-deadline:read_expire=5:prio_aging_expire=50 \
        mq-deadline:writes_starved=0:front_merges=0 kyber:read_lat_nsec=100000 \
        kyber:read_lat_nsec=50000000:write_lat_nsec=500000 bfq:low_latency=0 bfq:slice_idle=0 bfq:slice_idle_us=2000 \
        bfq:strict_guarantees=1 bfq:max_budget=2000:timeout_sync=40 bfq:back_seek_max=0:back_seek_penalty=1; do
        simulate $inputs/everything.fio -m $inputs/few-tags.toml -s $set
        simulate $traces/mixed.parquet -d hd-250-32 -s $set --limit 2000
    done
    for set in vscan-cyl:r=1 sptf:read_initiation=300 satf:write_initiation=500 aged-sptf:age_weight=100 \
        aged-sptf:cache_aware=1 aged-sptf:access_time=1 weighted-sptf:max_wait=50 weighted-sptf:cache_aware=1 \
        weighted-sptf:access_time=1 sptf-sw:slack=2 sptf-rw:slack=2 tsps:read_initiation=200 \
        ioqueue:policy=2:timeout_scheme=1:timeout=20 ioqueue:policy=4:timeout_scheme=2:timeout=30:timeout_policy=2 \
        ioqueue:priorities=1:priority_policy=4 ioqueue:stream_scheme=3:max_concat=256 ioqueue:stream_scheme=28 \
        ioqueue:policy=25:slack=0.5 ioqueue:policy=19:urgency=0.2; do
        simulate $inputs/everything.fio -d wd1200bb -s $set
        simulate $traces/mixed.parquet -d wd1200bb -s $set --limit 2000
    done
    for policy in $(seq 28); do simulate $inputs/closed.toml -d wd1200bb -s ioqueue:policy=$policy; done
}

# Around each scheduler, on a load whose requests are of all classes, and on one whose flags tell.
criticality() {
    local name
    for name in $general sptf ioqueue:overlap=1; do
        simulate $jobs/ganger-time-sharing.toml -m $machines/ncr-3433-1995.toml -s "'prio($name):aging_ms=2000'"
        simulate $inputs/load.blktrace -m $inputs/twice-as-fast.toml -s "'prio($name)'"
    done
    for name in ioqueue:overlap=1 ioqueue:policy=1:overlap=2 ioqueue:policy=11:max_wait=50; do
        simulate $inputs/everything.fio -d wd1200bb -s $name
    done
}

# Programs on a host with files: small ones, with and without criticality, and under a cache of REDCAP.
programs() {
    local name
    for name in compress:scale=0.03 uncompress:scale=0.03 copytree:scale=0.1 removetree:scale=0.2 synrgen:users=3:tasks=3; do
        simulate $name -m $machines/ncr-3433-1995.toml -s clook -s "'prio(clook)'" -s bfq
        simulate $name --seed 5 -d hd-500-16 -s mq-deadline --redcap 64x128k,algorithm=rig
    done
    # A user's own, and each way to share CPUs.
    for name in examples/workloads/file-server.toml examples/workloads/make.toml examples/jobs/ganger-time-sharing.toml; do
        simulate $name -m $machines/ncr-3433-1995.toml -s "'prio(clook):limited=1:low_starved=16'"
        simulate $name -m $inputs/svr4.toml -s "'prio(clook)'" -s cfq
        simulate $name -m $inputs/fair.toml -s "'prio(mq-deadline)'" -s bfq
    done
}

disks() {
    local name
    for name in $disks; do
        simulate $inputs/load.hp-srt -d $name $four
        simulate $inputs/closed.toml -d $name $four --seed 2
        simulate $inputs/everything.fio -d $name -s none -s kyber
        simulate $traces/mixed.parquet -d $name $four --limit 1500 --fit wrap
    done
    simulate $inputs/load.hp-srt -d $tiny/tiny.diskspecs $four --fit wrap
    simulate $traces/sqlite.parquet -d $tiny/tiny.parv $four -s sptf --fit wrap --limit 1000
}

machines() {
    local machine load
    for machine in $machines/*.toml $inputs/{raid*,declustered,concatenated,depth-1,few-tags,tag-steal,slow-host}.toml \
        $inputs/{no-merges,lookahead,twice-as-fast}.toml; do
        for load in $inputs/load.blktrace $inputs/everything.fio "$inputs/closed.toml --seed 3"; do
            simulate $load -m $machine $four
        done
        simulate $inputs/open.toml -m $machine -s none -s kyber -s as
    done
    for load in $inputs/load.disksim $inputs/closed.toml $traces/sqlite.parquet; do
        simulate $load -d $inputs/table-2.toml $four --fit wrap
        simulate $load -d $inputs/table-3.toml $four --fit wrap
    done
}

# Every trace format, and every way to replay.
replays() {
    local trace mode
    for trace in $inputs/load.*; do
        json trace stat $trace
        simulate $trace -d hd-320-16 $four --mode open
        simulate $trace -m $inputs/slow-host.toml $four --mode closed --population 8
    done
    for trace in $traces/*.parquet; do
        json trace stat $trace
        for mode in "open" "open --time-scale 0.3" "closed" "closed --population 3" "dependent" \
            "dependent --time-scale 2" "dependent --window 8"; do
            simulate $trace -d hd-500-16 $four --limit 1500 --mode $mode
        done
        simulate $trace -d ssd-64 $four --limit 1500
        simulate $trace -m $machines/desktop-2002.toml $four --limit 1500
    done
    for mode in "dependent" "dependent --window 4" "dependent --limit 100" "open --time-scale 4" "open --device 0"; do
        simulate $inputs/load.blkparse.gz -m $inputs/few-tags.toml $four --mode $mode
        simulate $inputs/load.blktrace -m $inputs/slow-host.toml $four --mode $mode
    done
    json trace stat $inputs/load.msr --device 0
    json trace stat $inputs/load.msr --reorder=16
    for format in msr disksim spc cloudphysics mqsim alibaba iolog msr-ms; do
        echo "iopilot trace convert $inputs/load.blkparse.gz OUT.text --to ${format/#iolog/fio-iolog}"
    done
}

synthetic() {
    local job name seed
    for job in $jobs/*.fio $jobs/*.toml; do
        for name in none mq-deadline kyber bfq deadline as cfq; do simulate $job -d hd-500-16 -s $name; done
        simulate $job -d ssd-160 -s none -s bfq --seed 5
        simulate $job -m $machines/server-sas.toml -s mq-deadline -s bfq --seed 6
    done
    for seed in 1 2 3 4 5; do
        for job in $inputs/everything.fio $inputs/open.toml $inputs/closed.toml; do
            simulate $job -m $inputs/few-tags.toml $four -s none -s kyber --seed $seed
            simulate $job -m $inputs/tag-steal.toml $four -s none -s kyber --seed $seed
        done
    done
}

comparisons() {
    json compare $inputs/load.blktrace -d hd-250-32
    json compare $inputs/everything.fio -d hp-c2247 -s all,positional
    json compare $inputs/closed.toml -m $machines/carroll-raid6-6.toml --seed 9
    json compare $traces/sqlite.parquet -d wd1200bb -s all,positional --limit 1000 --sort asked
    json compare $traces/compile.parquet -d ssd-64 --sort best
    json compare $jobs/priorities.fio -m $machines/server-sas.toml
    echo "iopilot demo --json --report OUT.html"
}

autopilot() {
    local objective
    json dads replay $jobs/changing.fio -d hd-500-16 --no-oracle
    json dads replay $jobs/changing.fio -d hd-500-16 --seed 1 --no-disk-trials --no-oracle
    json dads replay $jobs/changing.fio -d ssd-160
    json dads replay $traces/mixed.parquet -d hd-500-16 --limit 8000 --audit OUT.jsonl
    json dads replay $jobs/mixed.fio -d wd1200bb --objective p99
    json dads replay $jobs/changing.fio -d hd-500-16 --candidates none,mq-deadline,kyber,bfq --policy thesis
    json dads replay $jobs/changing.fio -d hd-500-16 --seed 4 --candidates none,mq-deadline,kyber,bfq:low_latency=0 --policy thesis
    json dads replay $jobs/changing.fio -d hd-250-32 --candidates noop,deadline,as,cfq --initial noop --interval 2 --policy thesis
    json dads replay $jobs/changing.fio -m $machines/server-sas.toml --policy guarded --revert --interval 2 --candidates none,mq-deadline,kyber,bfq
    json dads replay $jobs/changing.fio -d ssd-160 --no-oracle --interval 1 --candidates none,mq-deadline,kyber,bfq --policy thesis
    json dads replay $traces/mixed.parquet -d hd-500-16 --interval 1 --limit 8000 --audit OUT.jsonl --candidates none,mq-deadline,kyber,bfq --policy thesis
    json dads replay $traces/mixed.parquet -d hd-500-16 --interval 1 --limit 4000 --trial-requests 2000 --renew --revert --candidates none,mq-deadline,kyber,bfq --policy thesis
    json dads replay $traces/tar.parquet -d hd-320-16 --interval 0.5 --candidates mq-deadline:fifo_batch=1,16,64 --policy thesis
    json dads replay $jobs/strided-8k.fio -m $inputs/few-tags.toml --interval 1 --trial-requests 2000 --no-oracle --candidates none,mq-deadline,kyber,bfq --policy thesis
    json dads replay $jobs/ganger-time-sharing.toml -d wd1200bb --interval 5 --default bfq --candidates none,mq-deadline,kyber,bfq --policy thesis
    for objective in service-time busy-time p99 throughput fairness blocked-time; do
        json dads replay $traces/sqlite.parquet -d wd1200bb --interval 1 --objective $objective --limit 2000 --candidates none,mq-deadline,kyber,bfq --policy thesis
        json dads replay $jobs/mixed.fio -d hd-250-32 --interval 3 --objective $objective --policy guarded --candidates none,mq-deadline,kyber,bfq
    done
}

models() {
    local name clock format seed policy scheme
    for name in hd-250-32 hp-c2247 wd1200bb exos-x18-18t $tiny/tiny.diskspecs; do json disk probe $name; done
    for name in hd-500-16 hp-c2247 ssd-64-simple; do
        echo "iopilot disk train $name --json --samples 4 -o OUT.toml"
        echo "iopilot disk train $name --json --samples 2 --form 2 --seed 1 -o OUT.toml"
    done
    for clock in model measured; do
        json disk validate $tiny/tiny.diskspecs $inputs/tiny.validate --clock $clock
        json disk validate $tiny/tiny.parv $inputs/tiny.validate --clock $clock --think before --part test
        json disk validate hp-c2247 $inputs/load.disksim-validate --clock $clock --think after
        json disk validate $tiny/tiny.diskspecs $inputs/tiny.validate --clock $clock --as-disksim --think auto
    done
    json disk validate $tiny/tiny.diskspecs $inputs/tiny.validate --calibrate --part test
    echo "iopilot disk calibrate $tiny/tiny.diskspecs $inputs/tiny.validate --json -o OUT.toml"
    echo "iopilot disk convert $tiny/tiny.parv"

    for name in $tiny/tiny.parv $inputs/array.parv; do
        for seed in 1 2 3 4 5; do json disksim run $name --seed $seed; done
        for scheme in 0 1; do json disksim run $name --set "'driver0:Use queueing in subsystem=$scheme'" --seed 6; done
    done
    for format in ascii batch emcsymm emcbackend validate; do
        json disksim run $tiny/tiny.parv --trace $inputs/tiny.$format --trace-format $format
    done
    for policy in $(seq 28); do
        json disksim run $tiny/tiny.parv --trace $inputs/tiny.ascii --set "'driver0:Use queueing in subsystem=0'" \
            --set "'driver0:Scheduler:Scheduling policy=$policy'"
        json disksim run $inputs/array.parv --set "'disk*:Scheduler:Scheduling policy=$policy'"
    done
    for name in 'ctlr0:Cache:Write scheme=1' 'ctlr0:Cache:Write scheme=2' 'ctlr0:Cache:Replacement policy=1' \
        'ctlr0:Cache:Replacement policy=3' 'ctlr0:Cache:Replacement policy=4' 'ctlr0:Cache:Allocation policy=1' \
        'ctlr0:Cache:Flush policy=0' 'ctlr0:Cache:Line size=16' 'ctlr1:type=2' 'disk0:Fast write level=0' \
        'disk0:Stop prefetch in sector=1' 'driver0:Constant access time=2.0' 'bus1:Arbitration type=2'; do
        json disksim run $inputs/array.parv --set "'$name'"
    done
}

# The quick forms of the experiments that need neither root nor a live disk.
experiments() {
    local name
    for name in $("$IOPILOT" experiment list | awk '/^(carroll|gf)-/ { print $1 }'); do
        json experiment run $name --quick
    done
}

listings
schedulers
tunables
criticality
programs
disks
machines
replays
synthetic
comparisons
autopilot
models
experiments
