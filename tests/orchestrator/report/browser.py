"""A real Chromium, driven through ChromeDriver's HTTP protocol with nothing but the library."""

from __future__ import annotations

import base64
import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--force-color-profile=srgb",
)  # fmt: skip


class Browser:
    """One window. Its console and its network are recorded from the start."""

    def __init__(self, port: int, profile: Path) -> None:
        self._port = port
        options = {"args": [*_FLAGS, f"--user-data-dir={profile}"]}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        answer = self._call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/{answer['sessionId']}"

    _session = ""

    def _call(self, method: str, path: str, content: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        body = None if method == "GET" else json.dumps(content or {})
        connection.request(method, f"/session{self._session}{path}", body)
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(f"{answer['error']}: {answer['message']}")
        return answer

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def shape(self, width: int, height: int, *, phone: bool = False) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=phone,
        )  # fmt: skip

    def prefer(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def open(self, file: Path, fragment: str = "") -> None:
        self._call("POST", "/url", {"url": f"{file.resolve().as_uri()}{fragment}"})

    def run(self, script: str, *arguments: Any) -> Any:
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str, *arguments: Any) -> Any:
        """Run a script whose last argument is called with the answer."""
        return self._call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def press(self, *keys: str) -> None:
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call(
            "POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]}
        )

    def draw_everything(self) -> None:
        """Scroll through the page, so that all its charts are drawn."""
        self.wait(
            """const done = arguments[0]; let y = 0;
            const step = () => { scrollTo(0, y); y += innerHeight / 2;
              if (y < document.body.scrollHeight) setTimeout(step, 30);
              else { scrollTo(0, 0); setTimeout(done, 150); } };
            step();"""
        )

    def console(self) -> list[str]:
        """What the console said since the last time: errors, warnings, refusals of the policy."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Every address that was asked for since the last time."""
        found = []
        for entry in self._call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def screenshot(self, target: Path, *, whole: bool = False) -> None:
        picture = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole,
                                **({"clip": self._page()} if whole else {}))["data"]  # fmt: skip
        target.write_bytes(base64.b64decode(picture))

    def _page(self) -> dict[str, float]:
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}

    def pdf(self) -> bytes:
        return base64.b64decode(self.devtools("Page.printToPDF", printBackground=True)["data"])

    def close(self) -> None:
        self._call("DELETE", "")


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser that ends with the block. Debian: packages chromium and chromium-driver."""
    driver = subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert driver.stdout is not None
        port = None
        for line in driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                port = int(found[1])
                break
        assert port is not None, "chromedriver did not start"
        window = Browser(port, folder / "profile")
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait(timeout=20)
