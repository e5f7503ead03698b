#!/usr/bin/env python3
"""Drives Debian's chromium over its DevTools protocol and looks at a report as a reader would.

No package is needed: the protocol's websocket is spoken with the standard library. Called by test-browser.sh.
"""
import base64
import http.client
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time


class Browser:
    """One headless chromium and one page of it."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0",
             "--user-data-dir=" + os.path.join(folder, "profile"), "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            found = re.search(r"ws://127\.0\.0\.1:(\d+)/", line)
            if found:
                self.port = int(found.group(1))
                break
        else:
            raise SystemExit("chromium did not start")
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/json/list")
        pages = [page for page in json.load(connection.getresponse()) if page["type"] == "page"]
        path = pages[0]["webSocketDebuggerUrl"].split(str(self.port), 1)[1]
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        self.number, self.events = 0, []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise SystemExit("chromium went away")
            data += part
        return data

    def _receive(self):
        text = b""
        while True:
            first, second = self._exactly(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self._exactly(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._exactly(8))[0]
            text += self._exactly(size)
            if first & 128:
                return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        body = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        mask = os.urandom(4)
        size = len(body)
        head = b"\x81" + (bytes([128 | size]) if size < 126 else bytes([128 | 126]) + struct.pack(">H", size) if size < 65536
                          else bytes([128 | 127]) + struct.pack(">Q", size))
        self.socket.sendall(head + mask + bytes(c ^ mask[i & 3] for i, c in enumerate(body)))
        while True:
            message = self._receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def run(self, script):
        """The value of an expression on the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, url, width=1280, height=900, dark=False, phone=False):
        """Loads a page; returns seconds until it is there and drawn. self.loaded: from the navigation to the end of the load event."""
        self.events = []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        start = time.monotonic()
        self.call("Page.navigate", url=url)
        while self.run("document.readyState") != "complete":
            time.sleep(0.01)
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seconds = time.monotonic() - start
        self.loaded = self.run("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
        return seconds

    def complaints(self):
        """Console messages, exceptions and loads that failed since the page was opened."""
        self.run("1")
        found = []
        for event in self.events:
            name, values = event.get("method"), event.get("params", {})
            if name == "Runtime.exceptionThrown" or name == "Network.loadingFailed":
                found.append(json.dumps(values)[:300])
            elif name == "Log.entryAdded":
                found.append(values["entry"]["text"])
            elif name == "Runtime.consoleAPICalled":
                found.append(str(values.get("args"))[:300])
        return found

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, x, y, to_x, to_y):
        self.move(x, y)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=(x + to_x) / 2, y=to_y, button="left")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=to_x, y=to_y, button="left")
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)

    def shot(self, path, whole=True):
        size = self.run("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 12000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **({"clip": clip} if whole else {}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait()


FAILED = []


def check(holds, what):
    print(("ok    " if holds else "FAILED ") + what)
    if not holds:
        FAILED.append(what)


def centre(browser, selector):
    return browser.run(f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
                       f"return [b.left + b.width / 2, b.top + b.height / 2, b.left, b.top, b.width, b.height]; }})(document.querySelector({json.dumps(selector)}))")


def look(browser, url, name, shots, has_map):
    seconds = browser.open(url)
    check(not browser.complaints(), f"{name}: nothing on the console {browser.complaints()[:2]}")
    check(browser.requests() == [url], f"{name}: nothing else is fetched {browser.requests()[1:3]}")
    check(seconds <= 1 or os.environ.get("L2GCN_SLOW_MACHINE"), f"{name}: opens in {seconds:.2f} s, load event after {browser.loaded:.2f} s")
    check(browser.run("document.querySelectorAll('svg.chart polyline, svg.chart circle').length") > 0, f"{name}: charts are drawn")
    if os.environ.get("L2GCN_QUICK"):
        return
    browser.run("document.querySelectorAll('details.part').forEach(p => { p.open = true; })")
    x, y, left, top, width, height = centre(browser, "svg.chart")
    browser.move(x, y)
    check(browser.run("[...document.querySelectorAll('.tip')].some(t => !t.hidden && t.textContent.length > 3)"), f"{name}: values under the pointer")
    before = browser.run("document.querySelector('svg.chart polyline, svg.chart circle').outerHTML")
    browser.drag(left + 0.35 * width, y, left + 0.55 * width, y)
    after = browser.run("document.querySelector('svg.chart polyline, svg.chart circle').outerHTML")
    check(before != after, f"{name}: dragging zooms")
    browser.run("document.querySelector('svg.chart').dispatchEvent(new MouseEvent('dblclick'))")
    check(browser.run("[...document.querySelectorAll('svg.chart text')].every(t => !/NaN|undefined|^-0$/.test(t.textContent))"), f"{name}: no NaN, no -0")
    check(browser.run("(t => { if (!t) return true; const b = t.tHead.querySelector('button'); b.click(); b.click(); return t.querySelector('th').getAttribute('aria-sort') === 'descending'; })(document.querySelector('table.sort'))"),
          f"{name}: tables sort")
    if has_map:
        browser.run("(s => { s.value = s.options[1].value; s.dispatchEvent(new Event('change')); })(document.querySelector('select'))")
        shown = browser.run("[...document.querySelectorAll('svg.map .dot')].filter(d => !d.classList.contains('off')).length")
        dots = browser.run("document.querySelectorAll('svg.map .dot').length")
        check(0 < shown < dots, f"{name}: choosing a class leaves {shown} of {dots} dots")
        browser.run("(s => { s.value = ''; s.dispatchEvent(new Event('change')); })(document.querySelector('select'))")
        spot = browser.run("(d => { d.scrollIntoView({block: 'center'}); const b = d.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })(document.querySelector('svg.map .dot'))")
        browser.move(*spot)
        check(browser.run("[...document.querySelectorAll('.tip')].some(t => !t.hidden && t.textContent.includes('truth'))"), f"{name}: a dot tells its node")
    check(browser.run("[...document.images].length") == 0 and not browser.run("window.hacked === true"), f"{name}: no name ran")
    for label, size in (("phone", (375, 812)), ("laptop", (1280, 900)), ("4k", (3840, 2160))):
        for dark in (False, True):
            browser.open(url, *size, dark=dark, phone=label == "phone")
            wide = browser.run("document.documentElement.scrollWidth")
            check(wide <= size[0], f"{name}: {label} {'dark' if dark else 'light'}: {wide} px in {size[0]}")
            ratio = browser.run(CONTRAST)
            check(ratio >= 4.5, f"{name}: {label} {'dark' if dark else 'light'}: least contrast of text {ratio:.1f}")
            check(browser.run(CUES), f"{name}: {label} {'dark' if dark else 'light'}: every table that is cut says so")
            browser.shot(os.path.join(shots, f"{name}-{label}-{'dark' if dark else 'light'}.png"))
    browser.open(url)
    browser.call("Emulation.setEmulatedMedia", media="print")
    check(browser.run("[...document.querySelectorAll('table.heat')].every(t => getComputedStyle(t.closest('.table')).breakInside === 'avoid')"),
          f"{name}: a print keeps the confusion matrix on one page")
    browser.call("Emulation.setEmulatedMedia", media="")
    parts = browser.run("document.querySelectorAll('details.part').length")
    if parts:
        tall = browser.run("document.documentElement.scrollHeight")
        check(tall < 2500 and not browser.run("document.querySelector('details.part[open]')"), f"{name}: {parts} runs are folded up ({tall} px)")
        browser.run("document.querySelector('a[href=\"#run-2\"]').click()")
        time.sleep(0.1)
        check(browser.run("document.getElementById('run-2').open"), f"{name}: a link opens its run")
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=False)["data"])
    with open(os.path.join(shots, name + ".pdf"), "wb") as file:
        file.write(pdf)
    check(pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type /Page/") >= 1, f"{name}: prints to PDF ({len(pdf)} bytes)")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.call("Page.reload")
    time.sleep(0.5)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    check(browser.run("document.querySelectorAll('table tbody tr').length > 3 && document.querySelectorAll('svg.chart').length > 0 && !document.documentElement.classList.contains('js')"),
          f"{name}: tables and charts without JavaScript")


# The least contrast of shown text against the page or the card behind it (WCAG's formula).
CONTRAST = """(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parse(c).slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : Math.pow((v + .055) / 1.055, 2.4); }); return .2126 * r + .7152 * g + .0722 * b; };
  let least = 99;
  for (const e of document.querySelectorAll('h1,h2,h3,p,td,th,span,b,a,figcaption,summary,caption,svg text')) {
    if (!e.textContent.trim() || !e.getClientRects().length || e.closest('.skip')) continue;
    let behind = e;
    while (behind && (parse(getComputedStyle(behind).backgroundColor)[3] === 0)) behind = behind.parentElement;
    const back = behind ? getComputedStyle(behind).backgroundColor : 'rgb(255,255,255)';
    if (parse(back).length === 4 && parse(back)[3] < 1) continue;
    const style = getComputedStyle(e), front = e instanceof SVGElement ? style.fill : style.color;
    const a = light(front), b = light(back);
    least = Math.min(least, (Math.max(a, b) + .05) / (Math.min(a, b) + .05));
  }
  return least;
})()"""


# Whether every table that is wider than its box shows that it can be scrolled.
CUES = """[...document.querySelectorAll('.table')].filter(b => b.getClientRects().length).every(b => {
  const scroll = b.querySelector('.scroll'), more = b.querySelector('.more');
  return (scroll.scrollWidth > scroll.clientWidth + 1) === (more.getClientRects().length > 0);
})"""


def main():
    shots = sys.argv[1]
    os.makedirs(shots, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        try:
            for argument in sys.argv[2:]:
                name, url = argument.split("=", 1)
                look(browser, url, name, shots, has_map=not name.startswith("compar"))
        finally:
            browser.close()
    if FAILED:
        raise SystemExit(f"{len(FAILED)} failed")


if __name__ == "__main__":
    main()
