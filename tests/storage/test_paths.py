"""Where a file goes: whatever an owner or a file is called, nobody gets out of their folder or into another's."""

import posixpath
import time
from urllib.parse import unquote
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.artifact import NOBODY, NewArtifact, content_type_of, folder_of, path_of, type_of
from penstock.errors import InvalidInput

JOB = UUID("01a1e011-4376-76a7-8b10-c6987fb0b9ff")
OTHER = UUID("01a1e011-4376-76a7-8b10-c6987fb0b900")

nasty = st.text(alphabet=st.sampled_from("ab_.~/\\%2EeFf#: \x00\n\x7f\u2025\uff0eé"), min_size=1, max_size=12)
owners = st.none() | nasty | st.sampled_from(["..", ".", "_", "%2E%2E", "a/b", "../ann", "/", "%5F", ".writing"])
names = nasty | st.text(min_size=1, max_size=20)


def accepted(owner: str | None, name: str, path: str | None = None) -> str | None:
    try:
        return path_of(owner, JOB, name, path)
    except InvalidInput:
        return None


@given(owners, names, st.none() | names)
@example("..", "../../etc/passwd", None)
@example("ann", "a", "../bob/a")
@example("ann", "a", "/etc/passwd")
def test_no_name_leads_out_of_its_owners_folder(owner: str | None, name: str, path: str | None) -> None:
    whole = accepted(owner, name, path)
    if whole is None:
        return
    assert whole.startswith(folder_of(owner) + "/")
    assert posixpath.normpath(whole) == whole
    assert not whole.startswith(("/", "."))
    assert ".." not in whole.split("/")
    assert whole.isascii()
    assert whole.isprintable()
    assert not set(whole) & set('\\#?*:<>|" ')


@given(owners, owners)
def test_two_owners_have_two_folders(one: str | None, other: str | None) -> None:
    assert (folder_of(one) == folder_of(other)) is (one == other)
    assert "/" not in folder_of(one)
    assert not folder_of(one).startswith(".")


@given(owners, nasty)
@example("_acme", "acme")
@example("acme", "acme")
def test_an_organisation_has_a_folder_that_no_owner_has(owner: str | None, org: str) -> None:
    assert folder_of(None, org) not in (folder_of(owner), folder_of(owner, org) if owner is not None else NOBODY)
    assert (folder_of(None, org) == folder_of(None, "acme")) is (org == "acme")
    assert "/" not in folder_of(None, org)
    assert not folder_of(None, org).startswith(".")


@given(names, names)
def test_two_names_have_two_paths(one: str, other: str) -> None:
    paths = [accepted("ann", one), accepted("ann", other)]
    if None not in paths:
        assert (paths[0] == paths[1]) is (one == other)


def test_plain_names_stay_as_they_are() -> None:
    assert path_of("ann", JOB, "audio/chapter1.mp3") == f"ann/{JOB}/audio/chapter1.mp3"
    assert path_of(None, JOB, "a.pdf") == f"{NOBODY}/{JOB}/a.pdf"
    assert path_of("ann", JOB, "a.pdf", "d1_1700000000.pdf") == "ann/d1_1700000000.pdf"
    assert path_of(None, JOB, "a.flac", "c1/a.flac", org="acme") == "_acme/c1/a.flac"
    assert path_of("ann", JOB, "a.flac", org="acme") == f"ann/{JOB}/a.flac"
    assert path_of("auth0|ann@x.org", JOB, "é 1.pdf") == f"auth0%7Cann@x.org/{JOB}/%C3%A9%201.pdf"
    assert unquote(path_of("ann", JOB, "é 1.pdf")) == f"ann/{JOB}/é 1.pdf"


@pytest.mark.parametrize(
    "name",
    [
        "", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\\b", "a\x00b", "a\nb", "a\x7f", "a\x85",
        "\ud800", "x" * 201, "é" * 34, "/".join(["x" * 150] * 6),
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["name", "path"])
def test_a_name_that_cannot_be_is_refused_by_its_field(field: str, name: str) -> None:
    name_and_path = (name, None) if field == "name" else ("a.pdf", name)
    with pytest.raises(InvalidInput) as refused:
        path_of("ann", JOB, *name_and_path)
    assert refused.value.field == field


def test_an_owner_too_long_for_a_folder_has_one_by_a_digest() -> None:
    owner, org = path_of("é" * 100, JOB, "a"), path_of(None, JOB, "a", org="é" * 100)
    assert owner != path_of("é" * 101, JOB, "a")
    assert org == f"{NOBODY}{owner}"
    assert len(owner) < 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content_type", "text/html\r\nX-Evil: 1"), ("content_type", "pdf"), ("content_type", ""), ("type", "a\nb"),
        ("content_type", "text/html;\r\n\r\nx=<script>"), ("content_type", "a/b;\rx=1"), ("content_type", "a/b; x=漢"),
        ("duration", -1), ("duration", float("inf")), ("duration", float("nan")), ("expires_in", -1),
    ],
)  # fmt: skip
def test_what_cannot_be_said_of_a_file_is_refused(field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        NewArtifact.of("ann", JOB, "a", **{field: value})  # type: ignore[arg-type]
    assert refused.value.field == field


@pytest.mark.parametrize("value", ["a/b" + ";a=b" * 25 + '"', "audio/" + "x" * 60_000])
def test_a_content_type_that_a_stranger_sent_costs_no_time(value: str) -> None:
    """And is not told in full to whoever reads the error."""
    began = time.thread_time()
    with pytest.raises(InvalidInput, match="must be like application/pdf") as caught:
        NewArtifact.of("ann", JOB, "a.pdf", content_type=value)
    assert time.thread_time() - began < 1
    assert len(str(caught.value)) < 300
    charset = "text/plain; charset=utf-8;format=flowed"
    assert NewArtifact.of("ann", JOB, "a.txt", content_type=charset).content_type == charset


def test_the_content_type_is_told_by_the_name_and_the_type_by_the_content_type() -> None:
    assert [content_type_of(name) for name in ("a.PDF", "x/b.mp3", "c.json", "d", "e.tar.gz", ".mp3", "f.webp")] == [
        "application/pdf", "audio/mpeg", "application/json", "application/octet-stream", "application/octet-stream",
        "audio/mpeg", "image/webp",
    ]  # fmt: skip
    shown = ["audio/mpeg", "application/pdf", "application/json", "audio/mp4", "image/png", "text/plain; charset=utf-8"]
    assert [type_of(each) for each in shown] == ["audio_mp3", "pdf", "json", "audio_m4a", "image_png", "text"]
    assert type_of("application/octet-stream") == "file"
