"""What a page says of itself, however it is written; and pages that were written to keep us busy."""

import time

import pytest

from penstock_recipes.bookmarks.html import MAX_HTML, PageFacts, read_html

URL = "https://example.com/blog/post.html?a=1#part"


def read(head: str) -> PageFacts:
    return read_html(f"<!doctype html><html><head>{head}</head><body>…</body>", URL)


def test_a_page_tells_its_title_description_picture_and_icon() -> None:
    facts = read("""
        <title>
            Jobs &amp; queues &mdash; <b>Penstock</b>
        </title>
        <meta name="description" content="A job platform,
            on Postgres.">
        <meta property='og:title' content='Another title'>
        <meta property="og:image" content="/card.png?a=1&amp;b=2#x">
        <link rel="shortcut icon" href="../icon.png" />
    """)
    assert facts == PageFacts(
        title="Jobs & queues — <b>Penstock</b>",
        description="A job platform, on Postgres.",
        og_image="https://example.com/card.png?a=1&b=2",
        favicon="https://example.com/icon.png",
        icons=["https://example.com/icon.png", "https://example.com/favicon.ico"],
    )


def test_what_is_not_told_is_none_and_the_icon_is_where_it_usually_is() -> None:
    assert read_html("", URL) == PageFacts(
        None, None, None, "https://example.com/favicon.ico", [URL[:20] + "favicon.ico"]
    )


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<TITLE>Loud</TITLE>", "Loud"),
        ("<title></title><meta property=og:title content=Plain>", "Plain"),
        ("<meta name=twitter:title content='Of a bird'><title> </title>", "Of a bird"),
        ("<!-- <title>No</title> --><title>Yes</title>", "Yes"),
        ("<script>'<title>No</title>'</script><title>Yes</title>", "Yes"),
        ("<div data-a=\"<title>No</title>\" x='>'><title>Yes</title>", "Yes"),
        ("<p don't><title>It's</title>", "It's"),
        ("<title>First</title><svg><title>Second</title></svg>", "First"),
        ("<title>a\0b\u202ec\x1b[0m</title>", "a b c [0m"),
        (f"<title>{'long ' * 1000}</title>", ("long " * 60)[:299].rstrip() + "…"),
        ("<title>never closed", None),
        ("<titles>No</titles>", None),
    ],
)
def test_the_title_is_what_a_browser_would_show(head: str, title: str | None) -> None:
    assert read(head).title == title


@pytest.mark.parametrize(
    ("head", "image"),
    [
        ('<meta property="og:image" content="http://a.example/1.png"><meta property="og:image" content="2">', "http://a.example/1.png"),
        ('<meta property="og:image" content="http://a/1"><meta property="og:image:secure_url" content="https://a/1">', "https://a/1"),
        ("<meta content=//cdn.example/i.jpg name=og:image>", "https://cdn.example/i.jpg"),
        ("<meta name=twitter:image content=i.webp>", "https://example.com/blog/i.webp"),
        ("<base href=https://other.example/x/><meta property=og:image content=i.png>", "https://other.example/x/i.png"),
        ("<base href='javascript:0'><meta property=og:image content=i.png>", "https://example.com/blog/i.png"),
        ("<meta property=og:image content=data:image/png;base64,AAAA>", None),
        ("<meta property=og:image content=file:///etc/passwd><meta name=twitter:image content=/ok.png>", "https://example.com/ok.png"),
        ("<meta property=og:image content=https://user:word@example.com/i.png>", None),
        ("<meta property=og:image content='https://[::1/i.png'>", None),
        ("<meta property=og:image content='https://example.com:99999/i.png'>", None),
        ("<meta property=og:image content='java\nscript:alert(1)'>", None),
        (f"<meta property=og:image content=/{'a' * 3000}>", None),
        ("<meta property=og:image content=' /with\nbreak.png\t'>", "https://example.com/withbreak.png"),
    ],
)  # fmt: skip
def test_the_picture_is_a_url_that_may_be_fetched(head: str, image: str | None) -> None:
    assert read(head).og_image == image


def test_icons_are_tried_from_the_best_to_the_usual() -> None:
    facts = read("""
        <link rel="mask-icon" href="/mask.svg"><link rel="icon" type="image/svg+xml" href="/a">
        <link rel=icon href=b.SVG>
        <link rel="apple-touch-icon" sizes="180x180" href="/touch.png">
        <link rel="icon" sizes="16x16 32x32" href="/small.ico">
        <link rel="icon" sizes="32x32" href="/small.png">
        <link rel="Icon" sizes="192X192" href="/large.png">
        <link rel="icon" href="data:image/png;base64,AAAA"><link rel=stylesheet href=/s.css><link rel=icon>
    """)
    names = ["large.png", "small.png", "small.ico", "touch.png", "favicon.ico"]
    assert facts.icons == [f"https://example.com/{name}" for name in names]
    assert facts.favicon == facts.icons[0]


def test_what_is_badly_written_is_the_same_for_every_python() -> None:
    """3.11.2 found the link in what the quote has begun."""
    assert read("""<link rel="icon" title='= href="/x.png">""").icons == ["https://example.com/favicon.ico"]


@pytest.mark.parametrize(
    ("page", "content_type", "title"),
    [
        ("<title>žluť</title>".encode(), None, "žluť"),
        ("<title>žluť</title>".encode("utf-8-sig"), "text/html; charset=latin-1", "žluť"),
        ("<title>žluť</title>".encode("utf-16"), None, "žluť"),
        ("<title>žluť</title>".encode("cp1250"), 'text/html; charset="windows-1250"', "žluť"),
        ("<meta charset=windows-1251><title>Привет</title>".encode("cp1251"), "text/html", "Привет"),
        (
            "<meta http-equiv=content-type content='text/html; charset=Shift_JIS'><title>日本</title>".encode("cp932"),
            None,
            "日本",
        ),
        (b"<meta charset=iso-8859-1><title>\x93caf\xe9\x94</title>", None, "“café”"),
        (b"<title>caf\xe9</title>", None, "café"),
        (b"<meta charset=utf-16><title>caf\xc3\xa9</title>", None, "café"),
        (b"<meta charset=rot13><title>plain</title>", "text/html; charset=punycode", "plain"),
        (b"<meta charset=no-such><title>plain</title>", "text/html; charset=\0", "plain"),
    ],
)
def test_letters_are_read_in_the_encoding_that_they_are_written_in(
    page: bytes, content_type: str | None, title: str
) -> None:
    assert read_html(page, URL, content_type).title == title


def test_a_letter_that_is_cut_in_two_does_not_make_the_page_another() -> None:
    page = "<title>é</title>".encode()
    assert read_html(page + b" " * (MAX_HTML - len(page) - 1) + "é".encode(), URL).title == "é"


HOSTILE = [
    "<", "<a ", "<a b=\"", "<a b='", "<a =\"", "</a ", "<!--", "<!", "<?", "<script>", "<title>", "&amp", "<a>",
    "<a\t=", "<meta a=", "<a " + " " * 500, "<meta charset", "<meta property=og:title content=a>", "<div>",
    "<link rel=icon href=/a>", "<style></style",
]  # fmt: skip


@pytest.mark.parametrize("written", HOSTILE)
def test_a_hostile_page_takes_no_more_time_than_its_length(written: str) -> None:
    def seconds(length: int) -> float:
        page = (written * (length // len(written) + 1))[:length]
        before = time.process_time()
        assert read_html(page, URL).icons
        return time.process_time() - before

    # ten times the length, so about ten times the time; a hundred if it were its square
    assert seconds(300_000) < 0.1 + 40 * seconds(30_000)


def test_ten_megabytes_are_not_read_to_the_end() -> None:
    assert read_html(b"<" * 10_000_000 + b"<title>late</title>", URL).title is None
