"""The sound of a recording. Each call is in a sandbox: a decoder that crashes takes only its process along, one that is
taken over has that recording and nothing else, and cancelling the job ends it."""

from pathlib import Path

from penstock import PenstockError
from penstock.sandbox import Limits, ProgramFailed, Reason, call
from penstock_recipes.calls import decoder
from penstock_recipes.calls.decoder import MAX_SECONDS, AudioFacts, NoAudio

_PROGRAM = Path(decoder.__file__)
_LIMITS = Limits(cpu=900, wall=1800, memory=1024**3, file_size=4 * 1024**3, output=1024**2)
"""Four hours of two channels are 1.8 GB before they are compressed. Seconds of a processor tell what is stuck from what
is on a busy machine."""
_FINAL = (Reason.CRASHED, Reason.CPU, Reason.OUTPUT)


async def extract_audio(source: Path, to: Path, *, max_seconds: float = MAX_SECONDS) -> AudioFacts:
    """As `decoder.extract_audio`. NoAudio is final; anything else raised may be tried again."""
    with decoder.made(to) as folded:
        return await _call("extract", source, {"to": to, "folded": folded}, max_seconds)


async def to_ogg_opus(source: Path, to: Path, *, max_seconds: float = MAX_SECONDS) -> AudioFacts:
    """As `decoder.to_ogg_opus`."""
    with decoder.made(to):
        return await _call("convert", source, {"to": to}, max_seconds)


async def _call(function: str, source: Path, writes: dict[str, Path], max_seconds: float) -> AudioFacts:
    try:
        answer = await call(
            _PROGRAM, function, _LIMITS, asked={"max_seconds": max_seconds}, reads={"source": source}, writes=writes
        )
        return answer.read(AudioFacts)
    except ProgramFailed as error:
        if error.reason is Reason.REFUSED:
            raise NoAudio(str(error)) from None
        if error.reason is Reason.MISSING:
            raise PenstockError(f"calls need {error}: pip install 'penstock-recipes[calls]'") from None
        if error.reason in _FINAL:
            raise NoAudio("the file breaks what should decode it") from error
        raise
