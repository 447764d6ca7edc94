"""A service instance of the lab: answers HTTP requests and UDP datagrams with its own name.

usage: instance.py NAME PORT ADDRESS...
"""

import http.server
import socket
import socketserver
import sys
import threading


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path.startswith("/bytes/"):
            body = b"x" * int(self.path[len("/bytes/"):])
        else:
            body = (self.server.name + "\n").encode()
        self.answer(body)

    def do_POST(self):
        left = int(self.headers["Content-Length"])
        read = 0
        while read < left:
            read += len(self.rfile.read(min(65536, left - read)))
        self.answer(str(read).encode())

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Http(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def server_bind(self):
        # Not HTTPServer's: it looks the address up in the DNS, which the lab has none of.
        socketserver.TCPServer.server_bind(self)


class Http6(Http):
    address_family = socket.AF_INET6


def datagrams(name, family, address, port):
    with socket.socket(family, socket.SOCK_DGRAM) as server:
        server.bind((address, port))
        while True:
            data, client = server.recvfrom(65535)
            server.sendto(name.encode() + b" " + data, client)


def main():
    name, port, addresses = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    threads = []
    for address in addresses:
        six = ":" in address
        server = (Http6 if six else Http)((address, port), Answer)
        server.name = name
        threads.append(threading.Thread(target=server.serve_forever))
        family = socket.AF_INET6 if six else socket.AF_INET
        threads.append(threading.Thread(target=datagrams, args=(name, family, address, port)))
    for thread in threads:
        thread.start()
    print("serving", flush=True)


main()
