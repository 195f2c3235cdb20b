use super::{complaint, extents, offsets, run};
use std::collections::BTreeMap;

#[test]
fn without_a_file_a_job_has_the_whole_device() {
    let log = run("[a]\nbs=1m\n");
    assert_eq!((log.requests.len(), offsets(&log)[1023]), (1024, 1023 << 20));
    let log = run("[a]\nfilename=/dev/sdb\nbs=1m\nsize=50%\noffset=25%\n");
    assert_eq!((log.requests.len(), offsets(&log)[0]), (512, 256 << 20));
}

#[test]
fn files_lie_behind_each_other_in_the_order_of_their_names() {
    let log = run(
        "[a]\nfilename=one\nsize=1m\nbs=64k\n[b]\nfilename=two\nsize=1536k\nbs=64k\n[c]\nfilename=three\nsize=1m\nbs=64k\n",
    );
    let mut first: BTreeMap<u32, u64> = BTreeMap::new();
    for s in &log.requests {
        first.entry(s.arrival.process.0).or_insert(s.arrival.lba.0 * 512);
    }
    assert_eq!(first.into_values().collect::<Vec<_>>(), [0, 1 << 20, 3 << 20]);
}

#[test]
fn jobs_that_name_a_file_share_it_and_clones_without_a_name_have_their_own() {
    let shared = run("[global]\nfilename=f\nsize=1m\nbs=64k\n[a]\n[b]\noffset=1m\n");
    let mut all = offsets(&shared);
    all.sort_unstable();
    assert_eq!(all, (0..32).map(|i| i * 65536).collect::<Vec<u64>>());
    let own = run("[a]\ndirectory=/mnt\nnumjobs=3\nsize=1m\nbs=1m\n");
    let mut all = offsets(&own);
    all.sort_unstable();
    assert_eq!(all, [0, 1 << 20, 2 << 20]);
}

#[test]
fn the_files_of_a_job_share_its_size_and_take_turns() {
    let turns = run("[a]\nfilename=x:y\nsize=512k\nbs=64k\n");
    let file = |at: u64| at >> 20;
    assert_eq!(offsets(&turns).into_iter().map(file).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1, 0, 1]);
    let one_by_one = run("[a]\nnrfiles=2\nsize=512k\nbs=64k\nfile_service_type=sequential\n");
    assert_eq!(offsets(&one_by_one).into_iter().map(file).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
    let random = run("[a]\nrw=randread\nfilesize=1m\nnrfiles=4\nsize=4m\nbs=64k\nfile_service_type=random:2\n");
    let mut all = extents(&random);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 64);
}

#[test]
fn files_need_a_size_unless_there_is_only_one() {
    assert_eq!(run("[a]\nfilename=big\nbs=1m\n").requests.len(), 1024);
    assert_eq!(
        complaint("[a]\nfilename=x\n[b]\nfilename=y\nsize=1m\n"),
        "test.fio:1: size: got none for file x, expected size= or filesize="
    );
    assert!(complaint("[a]\nfilename=/dev/sda\n[b]\nfilename=/dev/sdb\n").contains("expected one device"));
    assert!(
        complaint("[a]\ndirectory=/mnt\nnumjobs=3\nsize=512m\n")
            .contains("expected files that fit the disk's 1073741824 bytes")
    );
}

#[test]
fn offset_increment_spreads_the_clones() {
    let log = run("[a]\nfilename=/dev/sdb\nnumjobs=4\noffset_increment=25%\nsize=4k\n");
    assert_eq!(offsets(&log), [0, 256 << 20, 512 << 20, 768 << 20]);
}

/// As in fio 3.33: each clone of a job without `filename=` has its own file.
#[test]
fn a_job_without_a_file_has_one_for_each_clone() {
    let log = run("[readers]\nrw=read\nbs=64k\nsize=4m\nnumjobs=4\n");
    let mut all = offsets(&log);
    assert_eq!(all.len(), 256);
    all.sort_unstable();
    all.dedup();
    assert_eq!((all.len(), all[255]), (256, (16 << 20) - 65536));
    let same = run("[readers]\nrw=read\nbs=64k\nsize=4m\nnumjobs=4\ndirectory=/mnt/d\n");
    assert_eq!(log.requests, same.requests);
}

#[test]
fn filename_format_decides_which_files_are_shared() {
    let regions = |format: &str| {
        let log = run(&format!("[a]\nfilename_format={format}\nsize=1m\nbs=1m\nnumjobs=2\n"));
        let mut all = offsets(&log);
        all.sort_unstable();
        all
    };
    assert_eq!(regions("$jobname.$filenum"), [0, 0]);
    assert_eq!(regions("$jobname.$jobnum"), [0, 1 << 20]);
    let shared = run("[global]\nfilename_format=x.$jobnum\nsize=1m\nbs=1m\n[a]\n[b]\n");
    assert_eq!(offsets(&shared), [0, 0]);
}

/// As in fio 3.33.
#[test]
fn a_share_of_a_file_is_a_region_and_bytes_an_amount() {
    let region = |options: &str| {
        let log = run(&format!("[a]\nfilename=data\nfilesize=16m\nbs=64k\n{options}\n"));
        let all = offsets(&log);
        (all.len(), all.iter().min().copied().unwrap(), all.iter().max().copied().unwrap() + 65536)
    };
    let mb = 1 << 20;
    assert_eq!(region("rw=read\nsize=50%"), (128, 0, 8 * mb));
    assert_eq!(region("rw=randread\nsize=50%"), (128, 0, 8 * mb));
    assert_eq!(region("rw=read\nsize=50%\noffset=4m"), (128, 4 * mb, 12 * mb));
    assert_eq!(region("rw=read\nsize=50%\noffset=12m"), (64, 12 * mb, 16 * mb));
    assert_eq!(region("rw=read\nsize=8m"), (128, 0, 8 * mb));
    assert!(region("rw=randread\nsize=8m").2 > 8 * mb);
}
