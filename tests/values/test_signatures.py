"""Standard Webhooks signatures."""

import time

import pytest
from hypothesis import given
from hypothesis.strategies import binary, text

from penstock import InvalidInput
from penstock.push import InvalidSignature, verify
from penstock.signatures import Signer

# the example that the specification's own libraries test themselves with
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + "b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldC1vdGhlcg=="


def test_a_signature_is_what_the_specification_says() -> None:
    headers = Signer(SECRET).headers("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', now=1614265330)
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_what_was_signed_is_read() -> None:
    headers = {name.title(): value for name, value in Signer(SECRET).headers("1", b'{"a":1}').items()}
    assert verify(SECRET, headers, b'{"a":1}') == {"a": 1}


def test_while_a_secret_is_changed_either_verifies() -> None:
    both = Signer([OTHER, SECRET]).headers("1", b"{}")
    assert both["webhook-signature"].count("v1,") == 2
    assert verify(SECRET, both, b"{}") == verify(OTHER, both, b"{}") == {}
    assert verify([OTHER, SECRET], Signer(SECRET).headers("1", b"{}"), b"{}") == {}
    with pytest.raises(InvalidSignature):
        verify(OTHER, Signer(SECRET).headers("1", b"{}"), b"{}")


@given(binary(), binary(), text("0123456789abcdef-", min_size=1), text("0123456789abcdef-", min_size=1))
def test_no_other_body_or_id_passes(body: bytes, other: bytes, id: str, other_id: str) -> None:
    headers = Signer(SECRET).headers(id, body)
    if body != other:
        with pytest.raises(InvalidSignature, match="does not fit"):
            verify(SECRET, headers, other)
    if id != other_id:
        with pytest.raises(InvalidSignature, match="does not fit"):
            verify(SECRET, headers | {"webhook-id": other_id}, body)


@pytest.mark.parametrize("away", [-301, 301])
def test_an_old_or_early_one_is_refused(away: float) -> None:
    headers = Signer(SECRET).headers("1", b"{}", now=time.time() + away)
    with pytest.raises(InvalidSignature, match="more than 300 seconds"):
        verify(SECRET, headers, b"{}")
    assert verify(SECRET, headers, b"{}", tolerance=1000) == {}


def test_a_time_that_was_changed_is_refused() -> None:
    headers = Signer(SECRET).headers("1", b"{}", now=time.time() - 1000)
    with pytest.raises(InvalidSignature, match="does not fit"):
        verify(SECRET, headers | {"webhook-timestamp": str(int(time.time()))}, b"{}")


@pytest.mark.parametrize("signature", ["", "v1,", "v1", "v2,g0hM9SsE", "v1a,x", "v1,é", "v1,not base64"])
def test_nonsense_is_no_signature(signature: str) -> None:
    with pytest.raises(InvalidSignature):
        verify(SECRET, Signer(SECRET).headers("1", b"{}") | {"webhook-signature": signature}, b"{}")


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_all_three_headers_are_needed(name: str) -> None:
    headers = Signer(SECRET).headers("1", b"{}")
    del headers[name]
    with pytest.raises(InvalidSignature, match="are needed"):
        verify(SECRET, headers, b"{}")


@pytest.mark.parametrize("secret", ["", "hunter2-hunter2-hunter2-hunter2", "whsec_hunter2!", "whsec_aHVudGVyMg==", []])
def test_a_secret_of_another_shape_is_refused_and_not_repeated(secret: str | list[str]) -> None:
    with pytest.raises(InvalidInput, match="secret: ") as refused:
        Signer(secret)
    assert "hunter2" not in str(refused.value)
    assert "aHVudGVyMg" not in str(refused.value)


def test_a_signer_does_not_show_its_secrets() -> None:
    assert repr(Signer([SECRET, OTHER])) == "<Signer with 2 secrets>"
