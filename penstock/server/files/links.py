"""Links to artifacts, as the status of a job shows them."""

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Services
from penstock.server.files.signing import links_for
from penstock.server.jobs.visible import run_for
from penstock.storage.links import Purpose


async def links_of(services: Services, caller: Identity, job: UUID, *, flow: bool = True) -> list[dict[str, Any]]:
    """Links to what a job and, if it is a flow, everything below it have stored, as far as the caller may see it."""
    call = commands.ArtifactsOfJob(job) if flow else commands.ArtifactsOfJobs([job])
    return await artifact_links(services, await run_for(services, caller, service=call, user=call))


async def artifact_links(services: Services, artifacts: Sequence[Artifact]) -> list[dict[str, Any]]:
    return [
        {
            "id": artifact.id,
            "type": artifact.shown_type,
            "name": artifact.name,
            "url": (await link_to(services, artifact))[0],
            "duration": artifact.duration,
            "size": artifact.size,
            "content_type": artifact.content_type,
        }
        for artifact in artifacts
        if not artifact.expired
    ]


async def link_to(services: Services, artifact: Artifact, purpose: Purpose = "link") -> tuple[str, int]:
    """A link that works for a while, and until when (seconds of the epoch): the store's own, or this server's."""
    now = int(time.time())
    expires = now + services.settings.link_seconds
    if artifact.expires_at is not None:
        expires = min(expires, int(artifact.expires_at.timestamp()))
    signed = await services.app.artifacts.store.asign(artifact.path, expires - now)
    return signed or links_for(services.settings).make(artifact.id, expires, purpose), expires
