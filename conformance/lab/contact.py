"""A service contact instance of the lab that cannot connect: it answers with a report, and tells each that it makes to
those that listen.

usage: contact.py CSCI-ID ADDRESS PORT AUTHORITY CERTIFICATE KEY SLOTS

SLOTS is a file with the number of slots. Each change of it makes a report. It says on standard output who asks and who
listens.
"""

import http.server
import json
import ssl
import sys
import threading
import time

csci_id, address, port, authority, certificate, key, slots = sys.argv[1:]
began = time.time_ns()
lock = threading.Lock()
sequence = 0


def gas():
    with open(slots) as file:
        return int(file.read())


def report():
    global sequence
    with lock:
        sequence += 1
        number = sequence
    return json.dumps({
        "kind": "full", "cause": "heartbeat", "cs-id": 1, "csci-id": int(csci_id), "epoch": str(began),
        "sequence": str(number), "timestamp": str(time.time_ns() // 1000), "ttl": 3600, "gas": gas(),
        "computing-time": 5, "health": "healthy",
    })


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/cats/v1/reports/stream":
            return self.stream()
        print("asked for", self.path, flush=True)
        body = report().encode()
        known = self.path == "/cats/v1/reports/" + csci_id
        self.send_response(200 if known else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        print("listened to", flush=True)
        last, told = None, time.monotonic()
        while True:
            now = gas()
            if now != last:
                self.wfile.write(f"data: {report()}\n\n".encode())
                last, told = now, time.monotonic()
            elif time.monotonic() - told > 1:
                self.wfile.write(b":\n\n")
                told = time.monotonic()
            time.sleep(0.02)

    def log_message(self, *args):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
context.load_verify_locations(authority)
context.verify_mode = ssl.CERT_REQUIRED
context.set_alpn_protocols(["http/1.1"])
server = http.server.ThreadingHTTPServer((address, int(port)), Answer)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True)
print("serving", flush=True)
server.serve_forever()
