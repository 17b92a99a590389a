//! Tests in virtual time which data is read when.

use super::{BUFFER_SIZE, CoalescingStream, LONG_MOMENT, MOMENT};
use hyper::rt::{Read, ReadBuf};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

type Ours = CoalescingStream<TokioIo<DuplexStream>>;

fn pair() -> (DuplexStream, Ours) {
    patient_pair(MOMENT)
}

fn patient_pair(longest: Duration) -> (DuplexStream, Ours) {
    let (server, client) = duplex(4 * BUFFER_SIZE);
    (server, CoalescingStream::new(TokioIo::new(client), longest))
}

async fn read(ours: &mut Ours, most: usize) -> Vec<u8> {
    let mut space = vec![0; most];
    let mut space = ReadBuf::new(&mut space);
    poll_fn(|cx| Pin::new(&mut *ours).poll_read(cx, space.unfilled())).await.unwrap();
    space.filled().to_vec()
}

#[tokio::test(start_paused = true)]
async fn after_silence_bytes_are_read_immediately() {
    let (mut server, mut ours) = pair();
    for _ in 0..3 {
        server.write_all(b"event").await.unwrap();
        let before = Instant::now();
        assert_eq!(read(&mut ours, 64).await, b"event");
        assert_eq!(before.elapsed(), Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn data_that_follows_immediately_is_read_together_after_a_moment() {
    let (mut server, mut ours) = pair();
    server.write_all(b"one").await.unwrap();
    assert_eq!(read(&mut ours, 64).await, b"one");
    let before = Instant::now();
    let writing = tokio::spawn(async move {
        for part in [b"two", b"two", b"two"] {
            server.write_all(part).await.unwrap();
            tokio::time::sleep(MOMENT / 4).await;
        }
        server
    });
    assert_eq!(read(&mut ours, 64).await, b"twotwotwo");
    assert!((MOMENT..MOMENT * 2).contains(&before.elapsed()), "{:?}", before.elapsed());
    drop(writing.await.unwrap());
    assert_eq!(read(&mut ours, 64).await, b"", "the end is the end");
}

#[tokio::test(start_paused = true)]
async fn a_full_buffer_does_not_wait_and_small_takes_lose_nothing() {
    let (mut server, mut ours) = pair();
    let sent: Vec<u8> = (0..3 * BUFFER_SIZE).map(|at| (at % 251) as u8).collect();
    server.write_all(&sent).await.unwrap();
    drop(server);
    let before = Instant::now();
    let mut got = Vec::new();
    loop {
        let part = read(&mut ours, 4096).await;
        if part.is_empty() {
            break;
        }
        got.extend(part);
        if got.len() == 3 * BUFFER_SIZE {
            assert_eq!(before.elapsed(), Duration::ZERO, "there was more data each time");
        }
    }
    assert!(got == sent);
}

/// Sends data every 2 ms for 3 s to a reader with this maximum delay. Returns how often it was read, and the longest
/// delay of a byte.
async fn drip(longest: Duration) -> (usize, Duration) {
    let (mut server, mut ours) = patient_pair(longest);
    let begin = Instant::now();
    let writing = tokio::spawn(async move {
        for number in 0..1500_u32 {
            server.write_all(&number.to_be_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let (mut reads, mut slowest, mut count) = (0, Duration::ZERO, 0_u32);
    while count < 1500 {
        let part = read(&mut ours, 64 << 10).await;
        reads += 1;
        for number in part.chunks(4) {
            assert_eq!(number, count.to_be_bytes());
            let written = begin + Duration::from_millis(2) * count;
            slowest = slowest.max(written.elapsed());
            count += 1;
        }
    }
    writing.await.unwrap();
    (reads, slowest)
}

#[tokio::test(start_paused = true)]
async fn without_urgent_data_the_delay_grows_while_there_is_more() {
    let (reads, slowest) = drip(LONG_MOMENT).await;
    assert!(reads < 30, "{reads} reads for 1500 events");
    assert!(slowest <= LONG_MOMENT + Duration::from_millis(3), "{slowest:?}");
    let (reads, slowest) = drip(MOMENT).await;
    assert!(reads > 500, "{reads}");
    assert!(slowest <= MOMENT + Duration::from_millis(3), "{slowest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silence_makes_the_delay_short_again() {
    let (mut server, mut ours) = patient_pair(LONG_MOMENT);
    for _ in 0..20 {
        server.write_all(b"busy").await.unwrap();
        assert_eq!(read(&mut ours, 64).await, b"busy");
    }
    let reading = tokio::spawn(async move {
        assert_eq!(read(&mut ours, 64).await, b"later");
        ours
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.write_all(b"later").await.unwrap();
    let mut ours = reading.await.unwrap();
    server.write_all(b"again").await.unwrap();
    let before = Instant::now();
    assert_eq!(read(&mut ours, 64).await, b"again");
    assert!(before.elapsed() <= MOMENT + Duration::from_millis(1), "{:?}", before.elapsed());
}
