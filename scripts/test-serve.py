#!/usr/bin/env python3
"""What scripts/test-serve.sh asks of a running server: URL-FILE PID [--quick]. Ends the server with Ctrl-C."""
import collections
import concurrent.futures
import json
import multiprocessing
import os
import random
import re
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse

url = urllib.parse.urlparse(json.load(open(sys.argv[1]))["url"])
server, quick = int(sys.argv[2]), "--quick" in sys.argv
address = (url.hostname, url.port)
mutations, requests, slow_seconds = (300, 400, 3) if quick else (2000, 2000, 25)  # longer than the server waits for anybody


def get(path="/", host=url.netloc, version="1.1", more="Connection: close\r\n"):
    return f"GET {path} HTTP/{version}\r\nHost: {host}\r\n{more}\r\n".encode()


def read_all(connection):
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def ask(request):
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(request)
        return read_all(connection)


def status(answer):
    return int(answer[9:12]) if re.match(rb"HTTP/1\.[01] \d{3}", answer) else 0


def memory():
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{server}/status").read())[1]) / 1024


def check_hosts():
    for host in (url.netloc, f"localhost:{url.port}", "192.168.7.3:6060", "[::1]:1", "lab.example"):
        assert status(ask(get(host=host))) == 200, host
    for host in ("evil.example", f"evil.example:{url.port}", "127.0.0.1.evil.example"):
        assert status(ask(get(host=host))) == 403, host
    assert status(ask(get(more="Connection: close\r\nOrigin: http://evil.example\r\n"))) == 403
    assert b"content-security-policy: default-src 'none'" in ask(get()).lower()


def mutate(draw, request):
    """One to four changes: a byte, a piece lost, doubled or filled up."""
    data = bytearray(request)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(6)
        if kind == 0 and at < len(data):
            data[at] = draw.randrange(256)
        elif kind == 1:
            del data[at:at + draw.randint(1, 8)]
        elif kind == 2:
            data[at:at] = bytes(draw.randrange(256) for _ in range(draw.randint(1, 8)))
        elif kind == 3:
            data[at:at] = data[at:at + draw.randint(1, 40)]
        elif kind == 4:
            data[at:at] = draw.choice([b"a", b"/", b"%", b"\r\n", b"\0", b" ", b"A: b\r\n"]) * draw.choice([1, 10, 30000])
        else:
            del data[at:]
    return bytes(data)


def send_mutations():
    draw = random.Random(0)
    seeds = [get(), get("/version?a=b%20c&d"), get("/%2e%2e/%00", version="1.0"), get(more="Connection: keep-alive\r\n") * 3,
             b"HEAD / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nCookie: a=b\r\n\r\n",
             b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde",
             b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
             b"OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: http://[::1]:80\r\n\r\n"]

    def code_of(request):
        answer = b""
        with socket.create_connection(address, timeout=10) as connection:
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                answer = read_all(connection)
            except TimeoutError:
                raise
            except OSError:
                pass  # closed by the server before all was sent
        assert status(answer) < 500 or status(answer) in (501, 505), (request[:200], answer[:200])
        return status(answer)

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        seen = collections.Counter(pool.map(code_of, [mutate(draw, draw.choice(seeds)) for _ in range(mutations)]))
    os.kill(server, 0)
    print(f"{mutations} mutated requests: " + ", ".join(f"{n} × {code or 'closed'}" for code, n in sorted(seen.items())))


class SlowClients:
    """A third each: half a request, a byte a second; many requests for the page and no reading; one request, then nothing.
    Whoever is closed comes back."""

    def __init__(self, count, opened):
        self.waiting, self.clients, self.opened = select.epoll(), {}, opened
        for number in range(count):
            self.open(number)
        self.run()

    def open(self, number):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(10)
        connection.connect(address)
        connection.sendall([b"G", get(more="") * 60, get("/version", more="")][number % 3])
        connection.setblocking(False)
        self.clients[connection.fileno()] = (number, connection)
        # Readers hear of nothing but the end.
        self.waiting.register(connection, 0 if number % 3 == 1 else select.EPOLLIN)
        self.opened.value += 1

    def run(self):
        drip = time.monotonic()
        while True:
            time.sleep(0.05)
            for descriptor, _ in self.waiting.poll(0):
                number, connection = self.clients[descriptor]
                try:
                    if number % 3 != 1 and connection.recv(65536):
                        continue
                except OSError:
                    pass
                self.waiting.unregister(connection)
                del self.clients[descriptor]
                connection.close()
                try:
                    self.open(number)
                except OSError:
                    return  # the server has stopped
            if time.monotonic() - drip >= 1:
                drip += 1
                for number, connection in self.clients.values():
                    if number % 3 == 0:
                        try:
                            connection.send(b"E")
                        except OSError:
                            pass  # noticed above


def schedule(process):
    """Seconds for which a process ran, and was ready to run while others had the cores."""
    try:
        return [int(value) / 1e9 for value in open(f"/proc/{process}/schedstat").read().split()[:2]]
    except OSError:
        return [0, 0]


def measure(seconds):
    """What requests of another client take, each on a connection of its own: seconds, and the server's part of them. That is
    what is left without waiting for a core, and never less than the server ran, because waits of both sides may overlap."""
    times, own, end = [], [], time.monotonic() + seconds
    while time.monotonic() < end:
        (ran, waited), (_, here), start = schedule(server), schedule("self"), time.monotonic()
        assert status(ask(get(("/version", "/")[len(times) % 2]))) == 200
        times.append(time.monotonic() - start)
        (ran_then, waited_then), (_, here_then) = schedule(server), schedule("self")
        own.append(max(ran_then - ran, times[-1] - (waited_then - waited) - (here_then - here)))
        time.sleep(0.005)
    return times, own


def load(version, keep):
    """20 clients at once, as ab does."""
    path, failed = "/version", []

    def client():
        try:
            request = get(path, version=version, more="Connection: keep-alive\r\n" if keep else "Connection: close\r\n" * (version == "1.1"))
            done = 0
            while done < requests // 20:
                with socket.create_connection(address, timeout=10) as connection:
                    while done < requests // 20:
                        connection.sendall(request)
                        answer = connection.recv(65536) if keep else read_all(connection)
                        if not answer and keep:
                            break
                        assert status(answer) == 200, answer
                        done += 1
                        if not keep:
                            break
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    start = time.monotonic()
    clients = [threading.Thread(target=client) for _ in range(20)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    assert not failed, failed[0]
    print(f"HTTP/{version}{', kept alive' if keep else ''}: {requests} requests in {time.monotonic() - start:.2f} s")


def run_ab(*more):
    out = subprocess.run(["ab", "-q", "-n", str(requests), "-c", "20", *more, url.geturl()], capture_output=True, text=True, timeout=60, check=True).stdout
    value = lambda name: re.search(name + r":\s+([\d.]+)", out)  # noqa: E731
    assert int(value("Complete requests")[1]) == requests and int(value("Failed requests")[1]) == 0, out
    assert "Non-2xx" not in out, out
    print(f"ab {' '.join(more)} -n {requests} -c 20: {value('Time taken for tests')[1]} s")


for _ in range(600):  # until the report is built
    if b"Settings and versions" in ask(get()):
        break
    time.sleep(0.05)
check_hosts()
send_mutations()
for version in ("1.0", "1.1"):
    for keep in (False, True):
        if version == "1.0" and shutil.which("ab"):
            run_ab(*["-k"] * keep)
        else:
            load(version, keep)
before = memory()
opened = multiprocessing.Value("i", 0)
slow = multiprocessing.Process(target=SlowClients, args=(600, opened), daemon=True)
slow.start()
times, own = measure(slow_seconds)
grown = memory() - before
print(f"{len(times)} requests beside 600 slow clients ({opened.value} connections in {slow_seconds} s): median "
      f"{1000 * statistics.median(times):.1f} ms, slowest {1000 * max(times):.1f} ms, the server's part at most {1000 * max(own):.1f} ms; "
      f"memory of the server {before:.0f} MiB, then {grown:+.0f} MiB")
assert max(own) < 0.1
assert grown < 64
start = time.monotonic()
os.kill(server, signal.SIGINT)
while os.path.exists(f"/proc/{server}") and "Z" not in open(f"/proc/{server}/stat").read().split()[2]:
    assert time.monotonic() - start < 5, "still running 5 s after Ctrl-C"
    time.sleep(0.02)
print(f"stopped {time.monotonic() - start:.2f} s after Ctrl-C")
slow.terminate()
