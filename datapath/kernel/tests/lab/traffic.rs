//! Clients and instances.

use super::Space;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);

/// An instance that echoes TCP and UDP, both families, on one port, and answers each connection or datagram
/// after the address it saw.
pub struct Echo {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Echo {
    pub fn start(space: &Space, port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, started) = channel();
        let (halt, up) = (stop.clone(), ready.clone());
        let tcp = space.spawn(move || {
            let listener = TcpListener::bind(SocketAddr::new("::".parse().unwrap(), port)).unwrap();
            up.send(()).unwrap();
            for stream in listener.incoming() {
                if halt.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                std::thread::spawn(move || {
                    let mut buffer = [0; 65536];
                    while let Ok(length) = stream.read(&mut buffer) {
                        if length == 0 || stream.write_all(&buffer[..length]).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        let (halt, up) = (stop.clone(), ready);
        let udp = space.spawn(move || {
            let socket = UdpSocket::bind(SocketAddr::new("::".parse().unwrap(), port)).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
            up.send(()).unwrap();
            let mut buffer = [0; 65536];
            while !halt.load(Ordering::Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    let _ = socket.send_to(&buffer[..length], from);
                }
            }
        });
        for _ in 0..2 {
            started.recv_timeout(PATIENCE).unwrap();
        }
        let wake = space.name.clone();
        let halt = stop.clone();
        // Ends the listener's wait once the echo is dropped.
        let space = Space { name: wake };
        let waker = space.spawn(move || {
            while !halt.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_millis(10));
            }
            let _ = TcpStream::connect(SocketAddr::new("::1".parse().unwrap(), port));
        });
        std::mem::forget(space);
        Self { stop, threads: vec![tcp, udp, waker] }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Sends octets over TCP and reads as many back.
pub fn tcp_echo(space: &Space, to: &str, octets: usize) -> std::io::Result<()> {
    let to: SocketAddr = to.parse().unwrap();
    space.inside(move || {
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let sent: Vec<u8> = (0..octets).map(|at| (at % 251) as u8).collect();
        let mut reader = stream.try_clone()?;
        let expected = sent.clone();
        let reading = std::thread::spawn(move || {
            let mut back = vec![0; expected.len()];
            reader.read_exact(&mut back).map(|()| assert!(back == expected, "other octets came back"))
        });
        stream.write_all(&sent)?;
        reading.join().unwrap()
    })
}

/// A client's UDP socket, connected to a service.
pub fn udp(space: &Space, local: SocketAddr, to: &str) -> UdpSocket {
    let to: SocketAddr = to.parse().unwrap();
    space.inside(move || {
        let socket = UdpSocket::bind(local).unwrap();
        socket.connect(to).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    })
}

/// The client's address of the family of a service, with a port; any address and port for 0.
pub fn local(to: &str, port: u16) -> SocketAddr {
    let to: SocketAddr = to.parse().unwrap();
    let address = match (to.is_ipv4(), port) {
        (true, 0) => "0.0.0.0",
        (false, 0) => "::",
        (true, _) => super::CLIENT4,
        (false, _) => super::CLIENT6,
    };
    SocketAddr::new(address.parse().unwrap(), port)
}

/// Sends one datagram and waits for the echo.
pub fn ping(socket: &UdpSocket, text: &[u8]) -> std::io::Result<()> {
    socket.send(text)?;
    let mut back = [0; 2048];
    let length = socket.recv(&mut back)?;
    assert_eq!(&back[..length], text);
    Ok(())
}
