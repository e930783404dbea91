"""nginx with the configuration that `deploy/` ships: only names, ports and the certificate are others."""

from __future__ import annotations

import re
import socket
import ssl
from pathlib import Path

from django.conf import settings

from tests.launched import wait_until
from tests.servers import Server, free_port, program

_CONFIGURATION = settings.BASE_DIR / "deploy/nginx/pmweb.conf"
_AROUND = """
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/pmweb.conf;
}}
"""


class Nginx(Server):
    """A proxy with TLS in front of the web process at `upstream` (host:port)."""

    def __init__(self, upstream: str) -> None:
        self.server = program("nginx", "usr/sbin/nginx", package="nginx")
        openssl = program("openssl", package="openssl")
        super().__init__("nginx")
        self.plain, self.secure = free_port(), free_port()
        self.certificate = self.directory / "fullchain.pem"
        self.call(
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(self.directory / "privkey.pem"), "-out", str(self.certificate)),
        )
        self.write("pmweb.conf", self._configuration(upstream))
        self.write("nginx.conf", _AROUND.format(folder=self.directory))

    def _configuration(self, upstream: str) -> str:
        text = _CONFIGURATION.read_text()
        for old, new in {
            "listen 80;": f"listen 127.0.0.1:{self.plain};",
            "listen 443 ssl": f"listen 127.0.0.1:{self.secure} ssl",
            "server 127.0.0.1:8000": f"server {upstream}",
            "pmweb.example.org": "localhost",
            "/etc/ssl/pmweb": str(self.directory),
            "/var/log/nginx": str(self.directory),
        }.items():
            assert old in text, f"{_CONFIGURATION} has no {old!r} any more"
            text = text.replace(old, new)
        return re.sub(r"^\s*listen \[::\].*$", "", text, flags=re.MULTILINE)

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        configuration = ("-p", str(self.directory), "-c", str(self.directory / "nginx.conf"))
        self.call(self.server, "-t", *configuration)
        self.spawn(self.server, *configuration, "-g", "daemon off;")
        wait_until(self._listens, 30, f"nginx\n{self.log()}")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.secure), 1).close()
        except OSError:
            return False
        return True

    def trust(self) -> ssl.SSLContext:
        """What a visitor needs to believe its certificate."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def log(self) -> str:
        """All that it has written."""
        return "\n".join(path.read_text() for path in Path(self.directory).glob("*.log"))
