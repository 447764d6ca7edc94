//! What messages that have not come whole take up, over all sessions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod lab;

use cats_mgmtd_transport::FREE;
use lab::{HELLO, Lab, PATIENCE, Setup, rpc};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

const MIB: usize = 1 << 20;

async fn greeted(lab: &Lab) -> UnixStream {
    let mut stream = UnixStream::connect(lab.socket()).await.unwrap();
    stream.write_all(HELLO.as_bytes()).await.unwrap();
    until(&mut stream, "]]>]]>").await;
    stream
}

/// Reads until `wanted` has come.
async fn until(stream: &mut UnixStream, wanted: &str) -> String {
    let mut all = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&all).contains(wanted) {
            assert!(stream.read_buf(&mut all).await.unwrap() > 0, "{}", String::from_utf8_lossy(&all));
        }
    };
    timeout(PATIENCE, reading).await.unwrap();
    String::from_utf8(all).unwrap()
}

fn big(id: u32, size: usize) -> Vec<u8> {
    let config = format!("<config><!--{}--></config>", "x".repeat(size));
    rpc(id, &format!("<edit-config><target><candidate/></target>{config}</edit-config>")).into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_not_read_on_while_others_fill_the_room_and_is_served_when_they_are_done() {
    let lab = Lab::start(Setup::default()).await;
    lab.rooms.set_limit(4 * MIB as u64);
    let (mut first, mut second) = (greeted(&lab).await, greeted(&lab).await);
    let message = big(1, MIB + MIB / 2);
    let (begin, end) = message.split_at(message.len() - 1);
    first.write_all(begin).await.unwrap();
    let (mut reader, mut writer) = second.split();
    let sending = async {
        writer.write_all(&big(2, 2 * MIB)).await.unwrap();
    };
    let done = async {
        first.write_all(end).await.unwrap();
        until(&mut first, "##\n").await
    };
    // What is small is served meanwhile.
    let mut third = greeted(&lab).await;
    third.write_all(&big(3, FREE / 2)).await.unwrap();
    until(&mut third, "message-id=\"3\"").await;
    let (answer, ()) = tokio::join!(done, sending);
    assert!(answer.contains("message-id=\"1\"") && answer.contains("<ok/>"), "{answer}");
    let mut all = Vec::new();
    while !String::from_utf8_lossy(&all).contains("</rpc-reply>") {
        assert!(timeout(PATIENCE, reader.read_buf(&mut all)).await.unwrap().unwrap() > 0);
    }
    let all = String::from_utf8(all).unwrap();
    assert!(all.contains("message-id=\"2\"") && all.contains("<ok/>"), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_there_is_no_room_for_is_answered_with_resource_denied_and_the_session_goes_on() {
    let lab = Lab::start(Setup::default()).await;
    lab.rooms.set_limit(4 * MIB as u64);
    let mut stream = greeted(&lab).await;
    let (mut reader, mut writer) = stream.split();
    let sending = async {
        writer.write_all(&big(1, 3 * MIB)).await.unwrap();
        writer.write_all(&big(2, MIB)).await.unwrap();
    };
    let mut all = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&all).contains("<ok/>") {
            assert!(timeout(PATIENCE, reader.read_buf(&mut all)).await.unwrap().unwrap() > 0);
        }
    };
    tokio::join!(sending, reading);
    let all = String::from_utf8(all).unwrap();
    let (first, second) = all.split_once("message-id=\"2\"").expect("both are answered");
    assert!(
        first.contains("message-id=\"1\"") && first.contains("<error-tag>resource-denied</error-tag>"),
        "{all}"
    );
    assert!(second.contains("<ok/>"), "{all}");
}

/// A turn that would wait for the one before it would wait for ever.
#[tokio::test(flavor = "multi_thread")]
async fn big_messages_that_follow_each_other_are_carried_out_one_by_one_whatever_they_hold() {
    let lab = Lab::start(Setup::default()).await;
    let mut stream = greeted(&lab).await;
    let wrong = rpc(1, &format!("<edit-config><!--{}-->", "x".repeat(MIB))).into_bytes();
    let (mut reader, mut writer) = stream.split();
    let sending = async {
        for message in [wrong.clone(), big(2, MIB), wrong.clone(), big(4, MIB)] {
            writer.write_all(&message).await.unwrap();
        }
    };
    let mut all = Vec::new();
    let reading = async {
        while String::from_utf8_lossy(&all).matches("</rpc-reply>").count() < 4 {
            assert!(timeout(PATIENCE, reader.read_buf(&mut all)).await.unwrap().unwrap() > 0);
        }
    };
    tokio::join!(sending, reading);
    let all = String::from_utf8(all).unwrap();
    assert_eq!(all.matches("malformed-message").count(), 2, "{all}");
    assert_eq!(all.matches("<ok/>").count(), 2, "{all}");
}

/// What it is refused with is fifty times as long as what a peer sends, who takes none of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_takes_no_answers_is_not_read_on_and_gets_all_of_them_in_the_end() {
    const MESSAGE: &[u8] = b"x]]>]]>";
    let lab = Lab::start(Setup::default()).await;
    lab.rooms.set_limit(0);
    let mut stream = UnixStream::connect(lab.socket()).await.unwrap();
    stream.write_all(HELLO.replace("base:1.1", "base:1.0").as_bytes()).await.unwrap();
    until(&mut stream, "]]>]]>").await;
    let much = MESSAGE.repeat(8192);
    let mut sent = 0;
    // What waits on this machine is taken in much less than a second.
    while let Ok(written) = timeout(PATIENCE / 30, stream.write(&much[sent % MESSAGE.len()..])).await {
        sent += written.unwrap();
        assert!(sent < 4 * MIB, "it is read on and on");
    }
    let whole = sent / MESSAGE.len();
    let (mut answers, mut kept) = (0, Vec::new());
    let reading = async {
        while answers < whole {
            assert!(stream.read_buf(&mut kept).await.unwrap() > 0, "closed after {answers} of {whole}");
            let text = String::from_utf8_lossy(&kept);
            answers += text.matches("</rpc-reply>").count();
            let rest = text.rfind("</rpc-reply>").map_or(0, |at| at + "</rpc-reply>".len());
            kept.drain(..rest);
        }
    };
    timeout(PATIENCE, reading).await.unwrap();
    assert_eq!(answers, whole);
}
