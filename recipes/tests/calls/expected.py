"""What is to come of a recording, made without jobs, stages or a store."""

import tempfile
from functools import cache
from pathlib import Path

from calls.providers import analysis_of, transcript_of
from penstock_recipes.calls.decoder import extract_audio, to_ogg_opus


@cache
def files_made_of(recording: bytes) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        raw, flac, ogg = (Path(folder, name) for name in ("raw", "audio.flac", "audio.ogg"))
        raw.write_bytes(recording)
        extract_audio(raw, flac)
        to_ogg_opus(flac, ogg)
        transcript = transcript_of(ogg.read_bytes())
        analysis = analysis_of(transcript)
        return {"audio": flac.read_bytes(), "transcript": transcript.to_json(), "analysis": analysis.to_json()}
