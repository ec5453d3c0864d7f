"""Where no request that a stranger directs may go, in as many spellings as are known. For every client the same."""

# {port}: of a server on 127.0.0.1 and ::1 that counts who comes
INNER = [
    "http://127.0.0.1:{port}/", "http://127.0.0.3:{port}/", "http://2130706433:{port}/", "http://017700000001:{port}/",
    "http://0x7f000001:{port}/", "http://0177.0.0.1:{port}/", "http://0x7f.0.0.1:{port}/", "http://127.1:{port}/",
    "http://127.0.1:{port}/", "http://127.0.0.1.:{port}/", "http://0.0.0.0:{port}/", "http://0:{port}/",
    "http://[::1]:{port}/", "http://[0:0:0:0:0:0:0:1]:{port}/", "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/", "http://[::ffff:7f00:1]:{port}/", "http://[64:ff9b::7f00:1]:{port}/",
    "http://127%2e0%2e0%2e1:{port}/", "http://１２７.0.0.1:{port}/", "http://127。0。0。1:{port}/",
    "http://localhost:{port}/", "http://localhost.:{port}/", "http://LOCALHOST:{port}/",
    "http://example.com@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@example.com/",
    "http://inner.invalid:{port}/", "http://mixed.invalid:{port}/", "http://inner6.invalid:{port}/",
    "http://169.254.169.254/latest/meta-data/", "http://[::ffff:169.254.169.254]/", "http://2852039166/",
    "http://metadata.google.internal/", "http://10.0.0.1/", "http://192.168.0.1/", "http://[fd00::1]/",
    "http://[fe80::1]/", "http://100.100.100.200/latest/meta-data/", "https://127.0.0.1:{port}/",
    "https://inner.invalid:{port}/",
]  # fmt: skip

OTHER_SCHEMES = [
    "file:///etc/passwd", "file://localhost/etc/passwd", "ftp://127.0.0.1:{port}/", "gopher://127.0.0.1:{port}/_x",
    "data:text/html,<h1>x</h1>", "chrome://version/", "about:blank", "javascript:alert(1)", "blob:null/x",
    "view-source:http://127.0.0.1:{port}/", "filesystem:http://127.0.0.1:{port}/temporary/x", "//127.0.0.1:{port}/",
    "ws://127.0.0.1:{port}/", "devtools://devtools/bundled/inspector.html", "/etc/passwd", "", "http:///etc/passwd",
]  # fmt: skip

NAMES = {
    "inner.invalid": ["127.0.0.1"],
    "inner6.invalid": ["::1"],
    "mixed.invalid": ["127.0.0.2", "127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "localhost": ["127.0.0.1", "::1"],
    "outer.invalid": ["127.0.0.2"],
}
