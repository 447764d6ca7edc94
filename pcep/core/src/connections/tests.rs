use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Lets the connection fail, and tells after which time the next one is tried.
fn fail(connector: &mut Connector, now: Instant, random: u32) -> Duration {
    connector.handle_lost(now, random);
    let (due, what) = connector.poll_timeout().unwrap();
    assert_eq!(what, "connect");
    due - now
}

#[test]
fn attempts_come_less_often_until_a_session_was_up() {
    let now = Instant::now();
    let mut connector = Connector::new(Backoff::default(), now);
    assert_eq!(connector.handle_timeout(now, 0), Some(Action::Connect));
    assert_eq!(connector.handle_timeout(now, 0), None);
    let waits: Vec<u64> = (0..8).map(|_| fail(&mut connector, now, 0).as_secs()).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    connector.handle_connected();
    assert_eq!((connector.stage(), connector.poll_timeout()), (Stage::Connected, None));
    assert_eq!(fail(&mut connector, now, 0), 60 * SECOND, "it was connected to, and no more");
    connector.handle_up();
    assert_eq!(fail(&mut connector, now, 0), SECOND);
}

#[test]
fn a_connection_that_does_not_come_is_given_up() {
    let now = Instant::now();
    let mut connector = Connector::new(Backoff::default(), now);
    connector.handle_timeout(now, 0);
    assert_eq!(connector.poll_timeout(), Some((now + 60 * SECOND, "connecting")));
    assert_eq!(connector.handle_timeout(now + 59 * SECOND, 0), None);
    assert_eq!(connector.handle_timeout(now + 60 * SECOND, 0), Some(Action::GiveUp));
    assert_eq!(connector.handle_timeout(now + 60 * SECOND, 0), None);
    assert_eq!(connector.handle_timeout(now + 61 * SECOND, 0), Some(Action::Connect));
}

#[test]
fn chance_makes_the_time_up_to_a_quarter_shorter() {
    let now = Instant::now();
    for random in [0, 511, 1023, u32::MAX] {
        let wait = fail(&mut Connector::new(Backoff::default(), now), now, random);
        assert!(wait <= SECOND && wait > SECOND * 3 / 4, "{random}: {wait:?}");
    }
}

fn address(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

const SESSION: Admission = Admission::Refused(ErrorCode::SECOND_SESSION);

fn id(number: u64) -> ConnectionId {
    ConnectionId(number)
}

/// Proves CP-27: nobody takes the session of an address over by connecting again.
#[test]
fn a_second_session_from_an_address_is_refused_as_long_as_the_first_is_there() {
    let mut connections = Connections::new(10);
    let (ours, peer) = (address(1), address(9));
    assert_eq!(connections.admit(ours, peer, Opener::Peer, id(1)), Admission::Admitted);
    assert_eq!(connections.admit(ours, peer, Opener::Peer, id(2)), SESSION);
    connections.handle_up(peer, id(1));
    assert_eq!(connections.admit(ours, peer, Opener::Peer, id(3)), SESSION);
    connections.handle_gone(peer, id(3));
    assert_eq!(connections.len(), 1);
    connections.handle_gone(peer, id(1));
    assert!(connections.is_empty());
    assert_eq!(connections.admit(ours, peer, Opener::Peer, id(4)), Admission::Admitted);
}

#[test]
fn of_two_connections_at_once_both_sides_keep_the_same() {
    let (low, high) = (address(1), address(9));
    // The connection of the high side is the second one that the low side sees, and the first one that the high side has.
    let mut at_low = Connections::new(10);
    assert_eq!(at_low.admit(low, high, Opener::Us, id(1)), Admission::Admitted);
    assert_eq!(at_low.admit(low, high, Opener::Peer, id(2)), Admission::Instead(id(1)));
    at_low.handle_gone(high, id(1));
    assert_eq!(at_low.len(), 1);
    let mut at_high = Connections::new(10);
    assert_eq!(at_high.admit(high, low, Opener::Us, id(2)), Admission::Admitted);
    assert_eq!(at_high.admit(high, low, Opener::Peer, id(1)), SESSION);
}

/// Proves CP-28: connections are bounded.
#[test]
fn more_peers_than_are_allowed_are_not_admitted() {
    let mut connections = Connections::new(1);
    assert_eq!(connections.admit(address(1), address(2), Opener::Peer, id(1)), Admission::Admitted);
    assert_eq!(connections.admit(address(1), address(3), Opener::Peer, id(2)), Admission::Full);
}
