"""What is made of a recording: any file's sound, the same bytes each time, and no harm by a stranger's file."""

import json
import os
import socket
import struct
from array import array
from pathlib import Path
from random import Random

import pytest

from calls.media_files import read_sound, silence, tone, write_media, write_wav
from penstock_recipes.calls import audio
from penstock_recipes.calls.decoder import AudioFacts, NoAudio, extract_audio, to_ogg_opus
from tests.kit.fake_http import Answer, fake_server

KINDS = {
    "wav": ("wav", "pcm_s16le", False),
    "flac": ("flac", "flac", False),
    "mp3": ("mp3", "libmp3lame", False),
    "m4a": ("ipod", "aac", False),
    "aac": ("adts", "aac", False),
    "ogg": ("ogg", "libopus", False),
    "webm": ("webm", "libopus", False),
    "mkv": ("matroska", "libopus", True),
    "mp4": ("mp4", "aac", True),
    "mov": ("mov", "aac", True),
    "avi": ("avi", "pcm_s16le", True),
    "ts": ("mpegts", "aac", True),
}


@pytest.mark.parametrize("ending", KINDS)
def test_the_sound_of_any_audio_or_video_file_is_taken_out(ending: str, tmp_path: Path) -> None:
    container, codec, video = KINDS[ending]
    # the ending is not what tells: uploads have none
    source = write_media(tmp_path / "upload", tone(2.0), container=container, codec=codec, video=video)
    facts = extract_audio(source, tmp_path / "audio.flac")
    heard = read_sound(tmp_path / "audio.flac")
    assert (heard.codec, heard.rate, len(heard.channels)) == ("flac", 16_000, 1) == ("flac", facts.rate, facts.channels)
    assert facts.seconds == pytest.approx(heard.seconds, abs=0.001) == pytest.approx(2.0, abs=0.1)
    assert heard.hertz() == pytest.approx(440, rel=0.05)
    assert heard.loudness() == pytest.approx(8_000 / 2**0.5, rel=0.08)


def test_two_people_on_two_channels_stay_two(tmp_path: Path) -> None:
    source = write_wav(tmp_path / "call.wav", tone(1.5, 300), tone(1.5, 700))
    assert extract_audio(source, tmp_path / "audio.flac") == AudioFacts(1.5, 2, 16_000)
    heard = read_sound(tmp_path / "audio.flac")
    assert [heard.hertz(0), heard.hertz(1)] == [pytest.approx(300, rel=0.02), pytest.approx(700, rel=0.02)]


def test_one_channel_recorded_twice_becomes_one(tmp_path: Path) -> None:
    almost = array("h", (level + at % 7 for at, level in enumerate(tone(1.0))))
    source = write_wav(tmp_path / "call.wav", tone(1.0), almost)
    assert extract_audio(source, tmp_path / "audio.flac").channels == 1
    assert read_sound(tmp_path / "audio.flac").hertz() == pytest.approx(440, rel=0.02)
    assert [path.name for path in tmp_path.iterdir() if "mono" in path.name] == []


def test_a_film_in_surround_is_mixed_into_one_channel(tmp_path: Path) -> None:
    channels = [tone(1.0, 200.0 + 100 * number) for number in range(6)]
    source = write_media(tmp_path / "film", *channels, container="wav", codec="pcm_s16le", layout="5.1")
    assert extract_audio(source, tmp_path / "audio.flac") == AudioFacts(1.0, 1, 16_000)


def test_opus_is_what_speechkit_takes(tmp_path: Path) -> None:
    extract_audio(write_wav(tmp_path / "a.wav", tone(2.0, 300), tone(2.0, 700)), tmp_path / "audio.flac")
    assert to_ogg_opus(tmp_path / "audio.flac", tmp_path / "audio.ogg") == AudioFacts(2.0, 2, 48_000)
    data = (tmp_path / "audio.ogg").read_bytes()
    assert data[:4] == b"OggS"
    assert b"OpusHead" in data[:64]
    heard = read_sound(tmp_path / "audio.ogg")
    assert (heard.codec, heard.rate) == ("opus", 48_000)
    assert heard.seconds == pytest.approx(2.0, abs=0.02)
    assert [heard.hertz(0), heard.hertz(1)] == [pytest.approx(300, rel=0.05), pytest.approx(700, rel=0.05)]
    assert len(data) < 64_000 / 8 * 2.0 * 1.5


async def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    source = write_media(tmp_path / "a.mp4", tone(2.0), container="mp4", codec="aac", video=True)
    made = []
    for number in range(2):
        flac, ogg = tmp_path / f"{number}.flac", tmp_path / f"{number}.ogg"
        # in this process, and in another
        extract_audio(source, flac) if number else await audio.extract_audio(source, flac)
        to_ogg_opus(flac, ogg) if number else await audio.to_ogg_opus(flac, ogg)
        made.append((flac.read_bytes(), ogg.read_bytes()))
    assert made[0] == made[1]
    assert not any(b"Lav" in data for data in made[0])


def test_what_is_broken_in_the_middle_is_left_out(tmp_path: Path) -> None:
    source = write_media(tmp_path / "a.mp3", tone(4.0), container="mp3", codec="libmp3lame")
    data = bytearray(source.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 1500] = os.urandom(1500)
    source.write_bytes(data)
    assert 3.5 < extract_audio(source, tmp_path / "audio.flac").seconds < 4.3


def broken_files(folder: Path) -> dict[str, bytes]:
    video = write_media(folder / "v", container="mp4", codec="", video=True).read_bytes()
    mp4 = write_media(folder / "m", tone(0.5), container="mp4", codec="aac").read_bytes()
    wav = write_wav(folder / "w", tone(0.5)).read_bytes()
    slow = bytearray(wav)
    slow[24:28] = struct.pack("<I", 3)  # samples a second: each would become 5333
    return {
        "nothing": b"",
        "a text": b"Dear Sir or Madam,\n" * 100,
        "noise": bytes(range(256)) * 64,
        "a film without sound": video,
        "a film cut off before its index": mp4[: len(mp4) // 3],
        "a header and no sound": wav[:44],
        "three samples a second": bytes(slow),
        "an archive": b"PK\x03\x04" + bytes(4000),
    }


def test_a_file_without_sound_is_refused_for_good(tmp_path: Path) -> None:
    source = tmp_path / "upload"
    for kind, data in broken_files(tmp_path).items():
        source.write_bytes(data)
        with pytest.raises(NoAudio):
            pytest.fail(f"{kind} has sound: {extract_audio(source, tmp_path / 'audio.flac')}")
        assert not (tmp_path / "audio.flac").exists()


def test_whatever_is_changed_in_a_file_it_is_heard_or_refused(tmp_path: Path) -> None:
    random, source = Random(6), tmp_path / "upload"
    whole = [
        write_media(source, tone(0.3), container=container, codec=codec, video=video).read_bytes()
        for container, codec, video in KINDS.values()
    ]
    refused = 0
    for number in range(120):
        data = bytearray(whole[number % len(whole)])
        reach = min(len(data), random.choice((64, 512, 8192)))
        for _ in range(random.choice((1, 5, 40))):
            data[random.randrange(reach)] = random.randrange(256)
        source.write_bytes(data)
        try:
            assert extract_audio(source, tmp_path / "audio.flac", max_seconds=60).seconds <= 60
        except NoAudio:
            refused += 1
    assert 0 < refused < 120


def test_hours_of_silence_in_a_small_file_are_refused(tmp_path: Path) -> None:
    source = write_media(tmp_path / "a.flac", silence(1800, 8_000), container="flac", codec="flac", rate=8_000)
    assert source.stat().st_size < 400_000
    with pytest.raises(NoAudio, match="longer than 1 minutes"):
        extract_audio(source, tmp_path / "audio.flac", max_seconds=60)


def avi_with_subtitles(playlist: bytes) -> bytes:
    """An AVI file with a text track in it, which the library opens as a file of its own."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)

    def track(kind: bytes, rate: int, size: int, form: bytes) -> bytes:
        head = kind + bytes(4) + struct.pack("<IHHIIIIIIII4H", 0, 0, 0, 0, 1, rate, 0, 100, 4096, 0, size, 0, 0, 0, 0)
        return chunk(b"LIST", b"strl" + chunk(b"strh", head) + chunk(b"strf", form))

    main = struct.pack("<14I", 40_000, 16_000, 0, 16, 25, 0, 2, 4096, 0, 0, 0, 0, 0, 0)
    pcm = struct.pack("<HHIIHH", 1, 1, 16_000, 32_000, 2, 16)
    head = b"hdrl" + chunk(b"avih", main) + track(b"auds", 16_000, 2, pcm) + track(b"txts", 1, 0, b"")
    text = b"GAB2\0" + struct.pack("<HI", 2, 2) + b"x\0" + struct.pack("<HI", 4, len(playlist)) + playlist
    body = b"movi" + chunk(b"01tx", text) + chunk(b"00wb", tone(0.2, rate=16_000).tobytes())
    return chunk(b"RIFF", b"AVI " + chunk(b"LIST", head) + chunk(b"LIST", body))


async def test_a_playlist_opens_nothing(tmp_path: Path) -> None:
    write_media(tmp_path / "secret.ts", tone(1.0), container="mpegts", codec="aac")
    write_wav(tmp_path / "secret.wav", tone(1.0))
    async with fake_server(lambda _: Answer(404)) as server:
        hls = "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{}\n#EXT-X-ENDLIST\n"
        dash = (
            '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
            'mediaPresentationDuration="PT5S"><Period><AdaptationSet mimeType="audio/mp4"><Representation id="1" '
            f'bandwidth="1"><BaseURL>{server.url}a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>'
        )
        hostile = {
            "far.m3u8": hls.format(f"{server.url}a.ts"),
            "near.m3u8": hls.format("secret.ts"),
            "upload": hls.format(f"file://{tmp_path}/secret.ts"),
            "list.ffconcat": "ffconcat version 1.0\nfile secret.wav\n",
            "far.ffconcat": f"ffconcat version 1.0\nfile {server.url}a.wav\n",
            "list.mpd": dash,
            "call.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n",
        }
        for name, text in hostile.items():
            (tmp_path / name).write_text(text)
            with pytest.raises(NoAudio):
                await audio.extract_audio(tmp_path / name, tmp_path / "audio.flac")
        (tmp_path / "call.avi").write_bytes(avi_with_subtitles(hls.format(f"{server.url}a.ts").encode()))
        facts = await audio.extract_audio(tmp_path / "call.avi", tmp_path / "audio.flac")
        assert facts.seconds == pytest.approx(0.2, abs=0.01)
        assert server.requests == []


@pytest.fixture
def taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio, "_PROGRAM", Path(__file__).with_name("taken_over.py"))


@pytest.mark.usefixtures("taken_over")
async def test_a_decoder_that_crashes_takes_only_its_process_along(tmp_path: Path) -> None:
    (tmp_path / "call").write_text('"crash"')
    with pytest.raises(NoAudio, match="breaks what should decode it"):
        await audio.extract_audio(tmp_path / "call", tmp_path / "audio.flac")
    assert os.listdir(tmp_path) == ["call"]  # noqa: PTH208


@pytest.mark.usefixtures("taken_over")
async def test_a_recording_that_takes_its_decoder_over_has_gained_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "another call"
    victim.write_bytes(b"ours")
    for path, mode in ((tmp_path, 0o777), (victim, 0o666)):
        path.chmod(mode)
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = {"victim": str(victim), "worker": os.getpid(), "port": server.getsockname()[1]}
        (tmp_path / "call").write_text(json.dumps(asked))
        await audio.extract_audio(tmp_path / "call", tmp_path / "audio.flac")
    assert json.loads((tmp_path / "audio.flac").read_text()) == {"reached": []}
    assert victim.read_bytes() == b"ours"
