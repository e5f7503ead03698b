#!/usr/bin/env bash
# l2gcn serve under load: 1,000 requests a second for 10 seconds while 50 clients send a byte a second, other hosts' requests
# refused. Usage: scripts/test-serve.sh [BINARY [SECONDS]]
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${1:-build/release/l2gcn}")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
"$binary" train synthetic:cora -o "$work/run" --epochs 5 --quiet >/dev/null
"$binary" serve "$work/run" --port 0 --json --quiet >"$work/url" &
server=$!
for _ in $(seq 100); do [ -s "$work/url" ] && break; sleep 0.1; done
python3 - "$work/url" "${2:-10}" <<'PY'
import json, socket, sys, threading, time, urllib.parse
url = urllib.parse.urlparse(json.load(open(sys.argv[1]))['url'])
seconds, rate = float(sys.argv[2]), 1000
address = (url.hostname, url.port)

def ask(path='/version', host=None, more=''):
    with socket.create_connection(address, timeout=5) as s:
        s.sendall(f'GET {path} HTTP/1.1\r\nHost: {host or url.netloc}\r\nConnection: close\r\n{more}\r\n'.encode())
        data = b''
        while part := s.recv(65536):
            data += part
    return data

for _ in range(300):  # until the report is made
    if b'Settings and versions' in ask('/'):
        break
    time.sleep(0.1)
assert ask(host='evil.example').startswith(b'HTTP/1.1 403')
assert ask(more='Origin: http://evil.example\r\n').startswith(b'HTTP/1.1 403')

stop = threading.Event()
def slow():
    while not stop.is_set():
        try:
            with socket.create_connection(address) as s:
                for byte in b'GET / HTTP/1.1\r\nHost: x\r\n' * 4:
                    s.sendall(bytes([byte]))
                    if stop.wait(1):
                        return
        except OSError:
            pass
for _ in range(50):
    threading.Thread(target=slow, daemon=True).start()

done, wrong, worst, lock = 0, 0, 0.0, threading.Lock()
start = time.monotonic()
def steady(part, parts):
    global done, wrong, worst
    with socket.create_connection(address, timeout=5) as s:
        request = f'GET /version HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n'.encode()
        number = part
        while number < rate * seconds:
            wait = start + number / rate - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            begun = time.monotonic()
            s.sendall(request)
            data = s.recv(65536)
            took = time.monotonic() - begun
            with lock:
                done += 1
                worst = max(worst, took)
                wrong += not data.startswith(b'HTTP/1.1 200')
            number += parts
workers = [threading.Thread(target=steady, args=(i, 4)) for i in range(4)]
for w in workers: w.start()
for w in workers: w.join()
took = time.monotonic() - start
stop.set()
print(f'{done} requests in {took:.1f} s ({done / took:.0f} a second) beside 50 slow clients; {wrong} wrong; slowest {1000 * worst:.0f} ms')
assert wrong == 0 and done >= rate * seconds
assert ask('/').startswith(b'HTTP/1.1 200'), 'alive afterwards'
PY
kill -INT "$server"
wait "$server" || [ $? -eq 130 ]
server=
