"""How SpeechKit is reached, and by whom."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

_NAMES = {
    "SPEECHKIT_API_KEY": "api_key",
    "SPEECHKIT_IAM_TOKEN": "iam_token",  # nosec B105 - a name
    "SPEECHKIT_FOLDER_ID": "folder",
    "SPEECHKIT_LANGUAGE": "language",
    "SPEECHKIT_MODEL": "model",
    "SPEECHKIT_BUCKET": "bucket",
    "SPEECHKIT_ACCESS_KEY_ID": "access_key_id",
    "SPEECHKIT_SECRET_ACCESS_KEY": "secret_access_key",  # nosec B105 - a name
    "SPEECHKIT_STORAGE_URL": "storage_url",
    "SPEECHKIT_TRANSCRIBE_URL": "transcribe_url",
    "SPEECHKIT_OPERATIONS_URL": "operations_url",
}


@dataclass(frozen=True, kw_only=True)
class SpeechKitSettings:
    """An API key of a service account with the roles ai.speechkit-stt.user and storage.uploader (an IAM token does too,
    for twelve hours), and a static key of the same account for the bucket through which the audio is handed over."""

    bucket: str
    api_key: str | None = field(default=None, repr=False)
    iam_token: str | None = field(default=None, repr=False)
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)
    folder: str | None = None
    language: str = "ru-RU"
    model: str = "general"
    prefix: str = "calls"
    """Below it, in the bucket, is the audio of the calls that are being transcribed."""
    storage_url: str = "https://storage.yandexcloud.net"
    storage_region: str = "ru-central1"
    transcribe_url: str = "https://transcribe.api.cloud.yandex.net/speech/stt/v2/longRunningRecognize"
    operations_url: str = "https://operation.api.cloud.yandex.net/operations"
    timeout: float = 60.0

    def __post_init__(self) -> None:
        if not self.bucket:
            raise ValueError("SpeechKit takes audio from a bucket of Object Storage: set SPEECHKIT_BUCKET")
        if bool(self.api_key) == bool(self.iam_token):
            raise ValueError("SpeechKit needs either an API key or an IAM token: set SPEECHKIT_API_KEY")
        if bool(self.access_key_id) != bool(self.secret_access_key):
            raise ValueError("a static key has two parts: SPEECHKIT_ACCESS_KEY_ID and SPEECHKIT_SECRET_ACCESS_KEY")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "SpeechKitSettings":
        """From SPEECHKIT_API_KEY, SPEECHKIT_BUCKET and the like. Without SPEECHKIT_ACCESS_KEY_ID the bucket is opened
        with AWS_ACCESS_KEY_ID, as S3's clients do."""
        given = {ours: environ[name] for name, ours in _NAMES.items() if environ.get(name)}
        return cls(**{"bucket": "", **given})  # type: ignore[arg-type]

    @property
    def authorization(self) -> str:
        return f"Api-Key {self.api_key}" if self.api_key else f"Bearer {self.iam_token}"

    def redact(self, text: str) -> str:
        """Without what must not be told, should a service have told it."""
        for secret in (self.api_key, self.iam_token, self.access_key_id, self.secret_access_key):
            if secret:
                text = text.replace(secret, "…")
        return text
