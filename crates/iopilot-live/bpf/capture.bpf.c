// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
//
// The requests of one disk, one record each, handed over when they complete. `make bpf` builds it.
//
// A bio gets a number and a slot when it reaches the block layer (block_bio_queue, or block_split for what is split off).
// Its request's issue is noted by the request's tag. When the request completes, its own list of bios says what it
// carried: each one's slot is emptied into a record in the ring buffer. So merging costs nothing, nothing is matched
// by address, and one record a request leaves the kernel, without waking anyone.
//
// Only the fields that are used are declared; CO-RE finds them in the running kernel (5.17 or later).

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u32 __wsum;
enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_RB_NO_WAKEUP = 1 };

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define KERNEL __attribute__((preserve_access_index))

struct request_queue;
struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
} KERNEL;
struct block_device {
	struct gendisk *bd_disk;
	u32 bd_dev;
} KERNEL;
struct bvec_iter {
	u64 bi_sector;
	u32 bi_size;
} KERNEL;
struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	u32 bi_opf;
	u16 bi_ioprio;
	struct bvec_iter bi_iter;
	void *bi_private;
} KERNEL;
struct blk_mq_hw_ctx {
	u32 queue_num;
} KERNEL;
struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	u32 cmd_flags;
	int tag;
	int internal_tag;
	struct bio *bio;
} KERNEL;
struct task_struct {
	int pid;
	int tgid;
	u64 start_time;
	struct task_struct *real_parent;
	char comm[16];
} KERNEL;
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_PRIO = 13,
	__REQ_NOMERGE = 14,
	__REQ_IDLE = 15,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
	__REQ_BACKGROUND = 20,
};
#define BIT_OF(flag) bpf_core_enum_value(enum req_flag_bits, flag)

// What user space says before the programs are loaded.
const volatile u32 disk_major, disk_minor;
// The number of the one partition to watch, in the kernel's encoding; 0 for the whole disk.
const volatile u32 partition;
// Whether the driver takes requests; else a bio's own completion is what counts.
const volatile u8 has_requests = 1;
// Whether the disk has a volatile write cache, and whether it knows FUA: which writes pass through the flush machinery,
// where they complete a second time, without sectors, once all is durable.
const volatile u8 write_back, knows_fua;

// Bios under way. A slot stands at most PROBES behind its bio's place.
#define SLOTS 65536
#define PROBES 8
// In one request.
#define MOST_BIOS 65536
// A bio that nobody saw end: 10 minutes, ns.
#define STALE 600000000000ull
struct slot {
	u64 bio; // 0 where empty
	u64 number;
	u64 arrival;
	u64 sector;
	u32 bytes;
	u32 opf;
	u32 pid;
	u16 cpu;
	u16 merged;
	u64 unused[2];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, u32);
	__type(value, struct slot);
} slots SEC(".maps");

// When the request of a tag was inserted (by scheduler tag) and issued (by driver tag).
#define TAGS 65536
struct moment {
	u64 request;
	u64 time;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAGS);
	__type(key, u32);
	__type(value, struct moment);
} issues SEC(".maps"), inserts SEC(".maps");

// Tasks that were told of, by the last bits of their number.
#define TASKS 4096
struct known {
	u64 start;
	u64 comm[2];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TASKS);
	__type(key, u32);
	__type(value, struct known);
} tasks SEC(".maps");

// What all programs read, what each arrival writes and what each completion writes are on cache lines of their own.
#define APART 16
struct state {
	u64 queue;
	// This structure's own address.
	u64 self;
	// Where the kernel has the flags, in the order of iopilot's own.
	u8 bits[16];
	u64 flush_issue;
	// What there was no room for.
	u64 lost;
	u64 apart[APART];
	// Bios that got a number.
	u64 arrived;
	u64 apart_too[APART];
	// Those of them that are over, told or not.
	u64 over;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} ring SEC(".maps");

// The kind of a record is in the top byte of its first word.
#define REQUEST (1ull << 56)
#define REFUSED (2ull << 56)
#define TASK (3ull << 56)
#define MERGED (1ull << 63)
struct request_record {
	u64 number;
	u64 arrival, inserted, issued, completed;
	u64 sector;
	u32 bytes, opf, pid;
	u16 cpu, priority;
};
struct task_record {
	u64 kind;
	u64 start;
	u32 pid, tgid, parent, unused;
	u64 comm[2];
};

static __always_inline struct state *the_state(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&state, &zero);
}

// What a bio is called here: its address, counted from the state's. The verifier lets no pointer be calculated with but by
// subtracting another one.
static __always_inline u64 name(struct state *st, struct bio *bio)
{
	u64 name = (u64)bio - (u64)st;
	asm volatile("" : "+r"(name));
	return name;
}

static __always_inline struct slot *slot_at(u64 bio, u32 probe)
{
	u32 at = ((u32)((bio * 0x9e3779b97f4a7c15ull) >> 48) + probe) & (SLOTS - 1);
	return bpf_map_lookup_elem(&slots, &at);
}

// An empty slot, now of `bio`. One that still is of `bio` is left over: nobody saw it end.
static __always_inline struct slot *claim(struct state *st, u64 bio, u64 now)
{
#pragma unroll
	for (u32 i = 0; i < PROBES; i++) {
		struct slot *s = slot_at(bio, i);
		if (!s)
			break;
		u64 found = s->bio;
		if (found && found != bio && now - s->arrival < STALE)
			continue;
		if (__sync_val_compare_and_swap(&s->bio, found, bio) != found)
			continue;
		if (found) {
			__sync_fetch_and_add(&st->over, 1);
			__sync_fetch_and_add(&st->lost, 1);
		}
		s->merged = 0;
		return s;
	}
	__sync_fetch_and_add(&st->lost, 1);
	return 0;
}

static __always_inline struct slot *find(u64 bio)
{
#pragma unroll
	for (u32 i = 0; i < PROBES; i++) {
		struct slot *s = slot_at(bio, i);
		if (s && s->bio == bio)
			return s;
	}
	return 0;
}

static __always_inline void tell_task(struct state *st, struct task_struct *task, u32 pid)
{
	u32 at = pid & (TASKS - 1);
	struct known *known = bpf_map_lookup_elem(&tasks, &at);
	u64 start = task->start_time;
	u64 *comm = (u64 *)task->comm;
	u64 first = comm[0], second = comm[1];
	if (!known || (known->start == start && known->comm[0] == first && known->comm[1] == second))
		return;
	struct task_record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&st->lost, 1);
		return;
	}
	r->kind = TASK;
	r->start = start;
	r->pid = pid;
	r->tgid = task->tgid;
	// A thread's own parent is its process' one: the process made it.
	r->parent = pid == r->tgid ? task->real_parent->tgid : r->tgid;
	r->unused = 0;
	r->comm[0] = first;
	r->comm[1] = second;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	known->start = start;
	known->comm[0] = first;
	known->comm[1] = second;
}

static __always_inline void learn(struct state *st, u64 queue)
{
	st->bits[0] = BIT_OF(__REQ_SYNC);
	st->bits[1] = BIT_OF(__REQ_RAHEAD);
	st->bits[2] = BIT_OF(__REQ_META);
	st->bits[3] = BIT_OF(__REQ_PRIO);
	st->bits[4] = BIT_OF(__REQ_FUA);
	st->bits[5] = BIT_OF(__REQ_PREFLUSH);
	st->bits[6] = BIT_OF(__REQ_IDLE);
	st->bits[7] = BIT_OF(__REQ_BACKGROUND);
	st->bits[8] = BIT_OF(__REQ_NOMERGE);
	st->self = (u64)st;
	st->queue = queue;
}

// Empties the slot into a record.
static __always_inline void over(struct state *st, struct slot *s, u64 kind, u64 inserted, u64 issued, u64 completed,
				 u16 priority)
{
	struct request_record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (r) {
		r->number = s->number | kind | (s->merged ? MERGED : 0);
		r->arrival = s->arrival;
		r->inserted = inserted;
		r->issued = issued;
		r->completed = completed;
		r->sector = s->sector;
		r->bytes = s->bytes;
		r->opf = s->opf;
		r->pid = s->pid;
		r->cpu = s->cpu;
		r->priority = priority;
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	} else {
		__sync_fetch_and_add(&st->lost, 1);
	}
	*(volatile u64 *)&s->bio = 0;
	__sync_fetch_and_add(&st->over, 1);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio, struct bio *bio)
{
	struct block_device *bdev = bio->bi_bdev;
	struct gendisk *disk = bdev->bd_disk;
	if ((u32)disk->major != disk_major || (u32)disk->first_minor != disk_minor)
		return 0;
	if (partition && bdev->bd_dev != partition)
		return 0;
	struct state *st = the_state();
	if (!st)
		return 0;
	// Reads, writes, flushes, discards, secure erasure, writing of zeroes; not the operations of zones and drivers.
	u32 opf = bio->bi_opf, op = opf & 255;
	if (op > 9 || !(0x22f >> op & 1))
		return 0;
	if (st->queue != (u64)disk->queue)
		learn(st, (u64)disk->queue);
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = task->pid;
	tell_task(st, task, pid);
	u64 now = bpf_ktime_get_ns();
	struct slot *s = claim(st, name(st, bio), now);
	if (!s)
		return 0;
	s->number = __sync_fetch_and_add(&st->arrived, 1);
	s->arrival = now;
	s->sector = bio->bi_iter.bi_sector;
	s->bytes = bio->bi_iter.bi_size;
	s->opf = opf;
	s->pid = pid;
	s->cpu = bpf_get_smp_processor_id();
	return 0;
}

// `bio` is a new one for the first part; what is left keeps the old one, which waits for the first part.
SEC("tp_btf/block_split")
int BPF_PROG(on_split, struct bio *bio, u32 sector)
{
	struct state *st = the_state();
	if (!st)
		return 0;
	// Copied, so that it is a number; a pointer to something unknown is different things to different verifiers.
	u64 whole = (u64)BPF_CORE_READ(bio, bi_private);
	struct slot *rest = find(whole - st->self);
	if (!rest)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u32 bytes = bio->bi_iter.bi_size;
	if (bytes >= rest->bytes)
		return 0;
	struct slot *first = claim(st, name(st, bio), now);
	if (!first)
		return 0;
	first->number = rest->number;
	first->arrival = rest->arrival;
	first->sector = rest->sector;
	first->bytes = bytes;
	first->opf = rest->opf;
	first->pid = rest->pid;
	first->cpu = rest->cpu;
	rest->number = __sync_fetch_and_add(&st->arrived, 1);
	rest->arrival = now;
	rest->sector += bytes >> 9;
	rest->bytes -= bytes;
	return 0;
}

static __always_inline int merged(struct state *st, struct bio *bio)
{
	struct slot *s = st ? find(name(st, bio)) : 0;
	if (s)
		s->merged = 1;
	return 0;
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(on_back_merge, struct bio *bio)
{
	return merged(the_state(), bio);
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(on_front_merge, struct bio *bio)
{
	return merged(the_state(), bio);
}

// All bios of `rq` now belong to another request.
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_request_merge, struct request *rq)
{
	struct state *st = the_state();
	if (!st || (u64)rq->q != st->queue)
		return 0;
	return merged(st, rq->bio);
}

static __always_inline u32 place(struct request *rq, int tag)
{
	return ((rq->mq_hctx->queue_num << 10) + (u32)tag) & (TAGS - 1);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_insert, struct request *rq)
{
	struct state *st = the_state();
	if (!st || (u64)rq->q != st->queue)
		return 0;
	u32 at = place(rq, rq->internal_tag);
	struct moment *m = bpf_map_lookup_elem(&inserts, &at);
	if (m) {
		m->request = (u64)rq;
		m->time = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq)
{
	struct state *st = the_state();
	if (!st || (u64)rq->q != st->queue)
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (!rq->bio) {
		// The flush machinery's own request serves all flushes that wait.
		if ((rq->cmd_flags & 255) == 2)
			st->flush_issue = now;
		return 0;
	}
	u32 at = place(rq, rq->tag);
	struct moment *m = bpf_map_lookup_elem(&issues, &at);
	if (m) {
		m->request = (u64)rq;
		m->time = now;
	}
	return 0;
}

// A completion, while its request's bios are told.
struct completion {
	struct state *st;
	u64 now, inserted, issued;
	// The next bio, as a number, and the bytes that are left for it.
	u64 bio;
	u32 bytes;
	// Flags of those that complete twice.
	u32 twice;
};

// A bio of `size` bytes is done, or the medium part of one that completes twice.
static __always_inline void done(struct completion *c, struct slot *s, u32 size, u16 priority)
{
	if (!s || (size && (s->opf & c->twice)))
		return;
	// Tags are used again: what was noted before the arrival was another one's.
	u64 issued = s->bytes ? c->issued : c->st->flush_issue;
	over(c->st, s, REQUEST, c->inserted > s->arrival ? c->inserted : 0, issued > s->arrival ? issued : 0, c->now,
	     priority);
}

// As many whole bios as the bytes are; the last may be done in part, and is then told with its last part.
static long next_bio(u32 n, struct completion *c)
{
	struct bio *bio = (struct bio *)c->bio;
	if (!bio || !c->bytes)
		return 1;
	u32 size = BPF_CORE_READ(bio, bi_iter.bi_size);
	if (size > c->bytes)
		return 1;
	c->bytes -= size;
	done(c, find(c->bio - c->st->self), size, BPF_CORE_READ(bio, bi_ioprio));
	c->bio = (u64)BPF_CORE_READ(bio, bi_next);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, int error, u32 bytes)
{
	struct state *st = the_state();
	if (!st || (u64)rq->q != st->queue)
		return 0;
	struct bio *bio = rq->bio;
	if (!bio)
		return 0;
	u32 size = bio->bi_iter.bi_size;
	if (size > bytes)
		return 0;
	struct completion c = { .st = st, .now = bpf_ktime_get_ns(), .bytes = bytes - size };
	u32 at = place(rq, rq->tag);
	struct moment *m = bpf_map_lookup_elem(&issues, &at);
	if (m && m->request == (u64)rq)
		c.issued = m->time;
	if (rq->internal_tag >= 0) {
		at = place(rq, rq->internal_tag);
		m = bpf_map_lookup_elem(&inserts, &at);
		if (m && m->request == (u64)rq)
			c.inserted = m->time;
	}
	if (write_back) {
		c.twice = 1u << BIT_OF(__REQ_PREFLUSH);
		if (!knows_fua)
			c.twice |= 1u << BIT_OF(__REQ_FUA);
	}
	done(&c, find(name(st, bio)), size, bio->bi_ioprio);
	if (c.bytes) {
		c.bio = (u64)BPF_CORE_READ(bio, bi_next);
		bpf_loop(MOST_BIOS, next_bio, &c, 0);
	}
	return 0;
}

// With requests, this tells of bios that never became one; completed ones were told before, and are not told here.
SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *queue, struct bio *bio)
{
	struct state *st = the_state();
	if (!st || (u64)queue != st->queue)
		return 0;
	struct slot *s = find(name(st, bio));
	if (s)
		over(st, s, has_requests ? REFUSED : REQUEST, 0, 0, bpf_ktime_get_ns(), bio->bi_ioprio);
	return 0;
}

// The kernel lets programs read its structures only if they are under the GPL.
char LICENSE[] SEC("license") = "Dual MIT/GPL";
