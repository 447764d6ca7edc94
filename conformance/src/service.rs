//! The service of the lab: a real HTTP and UDP server at each instance, and clients that ask who answers.

use crate::command::Background;
use crate::lab::{Lab, python, repository_root};
use crate::namespace::Namespace;
use crate::{LabError, Result};
use rustix::net::RecvFlags;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// The service's port.
pub const PORT: u16 = 443;

const ANSWER_BOUND: Duration = Duration::from_secs(10);

/// Starts the server of the instance `name` on its addresses and waits until it serves.
pub fn start_instance(lab: &Lab, host: &Namespace, name: &str, addresses: &[&str]) -> Result<Background> {
    let mut command = host.command(&python());
    command.arg(repository_root().join("conformance/lab/instance.py"));
    command.arg(name).arg(PORT.to_string()).args(addresses);
    let log = lab.folder().join(format!("instance-{name}.log"));
    let mut server = Background::start(&format!("instance {name}"), command, &log)?;
    server
        .wait_until("serving", || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("serving")))?;
    Ok(server)
}

/// Asks the service once with curl from `host`; gives the answering instance's name.
pub fn curl(host: &Namespace, service: &str, options: &[&str]) -> Result<String> {
    let address = if service.contains(':') { format!("[{service}]") } else { service.to_owned() };
    let url = format!("http://{address}:{PORT}/");
    let args =
        [&["--silent", "--show-error", "--max-time", "10", "--noproxy", "*"], options, &[&url]].concat();
    Ok(host.run("curl", &args)?.trim().to_owned())
}

/// A client that keeps its connection.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects from `host` to the service, which binds a flow.
    pub fn open(host: &Namespace, service: &str) -> Result<Connection> {
        Connection::open_within(ANSWER_BOUND, host, service)
    }

    /// As [`Connection::open`]; the handshake may take `bound`.
    pub fn open_within(bound: Duration, host: &Namespace, service: &str) -> Result<Connection> {
        let doing = format!("connecting to {service}");
        let server = address(service)?;
        let connected = host.enter(|| TcpStream::connect_timeout(&server, bound))?;
        let stream = connected.map_err(LabError::of(doing.clone()))?;
        stream.set_read_timeout(Some(ANSWER_BOUND)).map_err(LabError::of(doing.clone()))?;
        stream.set_nodelay(true).map_err(LabError::of(doing))?;
        Ok(Connection { stream: BufReader::new(stream) })
    }

    /// The client's side of the connection.
    pub fn client(&self) -> Result<SocketAddr> {
        self.stream.get_ref().local_addr().map_err(LabError::of("asking for the client's address"))
    }

    /// Asks on the connection; gives the answering instance's name.
    pub fn ask(&mut self) -> Result<String> {
        let body = self.get("/")?;
        Ok(String::from_utf8_lossy(&body).trim().to_owned())
    }

    /// As [`Connection::ask`]; the answer may take `bound`.
    pub fn ask_within(&mut self, bound: Duration) -> Result<String> {
        let limit = |stream: &TcpStream, bound| {
            stream.set_read_timeout(Some(bound)).map_err(LabError::of("bounding the wait for an answer"))
        };
        limit(self.stream.get_ref(), bound)?;
        let answer = self.ask();
        limit(self.stream.get_ref(), ANSWER_BOUND)?;
        answer
    }

    /// Gets `size` bytes on the connection and gives how many came.
    pub fn get_bytes(&mut self, size: usize) -> Result<usize> {
        Ok(self.get(&format!("/bytes/{size}"))?.len())
    }

    /// Sends `size` bytes on the connection and gives how many the instance says that it got.
    pub fn post_bytes(&mut self, size: usize) -> Result<usize> {
        let head = format!("POST / HTTP/1.1\r\nHost: service\r\nContent-Length: {size}\r\n\r\n");
        let body = vec![b'x'; size];
        let answer = self.request(&[head.as_bytes(), &body])?;
        let count = String::from_utf8_lossy(&answer).trim().parse();
        count.map_err(LabError::of("reading how many bytes the instance got"))
    }

    fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        self.request(&[format!("GET {path} HTTP/1.1\r\nHost: service\r\n\r\n").as_bytes()])
    }

    /// Sends the parts of a request and gives the body of the answer.
    fn request(&mut self, parts: &[&[u8]]) -> Result<Vec<u8>> {
        let doing = || "asking the service".to_owned();
        for part in parts {
            self.stream.get_mut().write_all(part).map_err(LabError::of(doing()))?;
        }
        let mut length = None;
        loop {
            let mut line = String::new();
            let read = self.stream.read_line(&mut line).map_err(LabError::of(doing()))?;
            if read == 0 {
                return Err(LabError::new(doing(), "the connection was closed"));
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse::<usize>().ok();
            }
        }
        let length = length.ok_or_else(|| LabError::new(doing(), "the answer has no length"))?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).map_err(LabError::of(doing()))?;
        Ok(body)
    }
}

/// A UDP client with a socket of its own, whose datagrams are one flow.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
}

impl Datagrams {
    /// Opens the client's socket in `host`.
    pub fn open(host: &Namespace, service: &str) -> Result<Datagrams> {
        let server = address(service)?;
        let any: SocketAddr = if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
        let doing = format!("opening a UDP flow to {service}");
        let socket = host.enter(|| UdpSocket::bind(any).and_then(|s| s.connect(server).map(|()| s)))?;
        let socket = socket.map_err(LabError::of(doing.clone()))?;
        socket.set_read_timeout(Some(ANSWER_BOUND)).map_err(LabError::of(doing))?;
        Ok(Datagrams { socket })
    }

    /// The client's side of the flow.
    pub fn client(&self) -> Result<SocketAddr> {
        self.socket.local_addr().map_err(LabError::of("asking for the client's address"))
    }

    /// Whether a datagram has come that nobody has received yet.
    pub fn has_answer(&self) -> Result<bool> {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(&self.socket, &mut [0; 1][..], flags) {
            Ok(_) => Ok(true),
            Err(rustix::io::Errno::AGAIN) => Ok(false),
            Err(error) => Err(LabError::of("looking for an answer")(error)),
        }
    }

    /// Sends a datagram and waits for its answer within the bound, past answers to others; gives the name.
    pub fn ask_within(&self, bound: Duration, text: &str) -> Result<String> {
        let limit =
            |bound| self.socket.set_read_timeout(Some(bound)).map_err(LabError::of("bounding the wait"));
        let doing = "waiting for the answer to a datagram";
        limit(bound)?;
        self.send(text)?;
        let mut buffer = [0; 2048];
        let answer = loop {
            let length = self.socket.recv(&mut buffer).map_err(LabError::of(doing));
            let length = match length {
                Ok(length) => length,
                Err(error) => break Err(error),
            };
            let answer = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
            if let Some(name) = answer.strip_suffix(text) {
                break Ok(name.trim().to_owned());
            }
        };
        limit(ANSWER_BOUND)?;
        answer
    }

    /// Sends a datagram; gives the name of the instance that answered it.
    pub fn ask(&self, text: &str) -> Result<String> {
        self.send(text)?;
        self.receive(text)
    }

    /// Sends a datagram.
    pub fn send(&self, text: &str) -> Result<()> {
        self.socket.send(text.as_bytes()).map(drop).map_err(LabError::of("sending a datagram"))
    }

    /// Receives the answer `NAME TEXT`, whose text must be `text`; gives the name.
    pub fn receive(&self, text: &str) -> Result<String> {
        let doing = "waiting for the answer to a datagram";
        let mut buffer = [0; 2048];
        let length = self.socket.recv(&mut buffer).map_err(LabError::of(doing))?;
        let answer = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
        let name = answer.strip_suffix(text).map(|name| name.trim().to_owned());
        name.ok_or_else(|| LabError::new(doing, format!("{answer:?} does not answer {text:?}")))
    }
}

fn address(service: &str) -> Result<SocketAddr> {
    let ip = service.parse().map_err(LabError::of(format!("reading the address {service}")))?;
    Ok(SocketAddr::new(ip, PORT))
}
