"""An example of each body that is sent and answered, by the name of its model. A test holds them to the models."""

from typing import Any

_JOB = "01990000-7a10-7c55-9d3e-5b1f0c2a4e01"
_OTHER = "01990000-7a10-7c55-9d3e-5b1f0c2a4e02"
_BATCH = "01990000-79ff-7d21-8a4b-0e6f9b7c3d10"
_ARTIFACT = "01990000-9c42-7b0e-b1d7-2f8a6c5e4d20"
_CREATED, _BEGAN, _ENDED = "2026-01-31T09:00:00Z", "2026-01-31T09:00:01Z", "2026-01-31T09:00:42Z"
_LINK = f"/api/artifacts/{_ARTIFACT}/file?expires=1769853600&signature=Zm9yIGV4YW1wbGU"
_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_ARTIFACT_LINK = {
    "id": _ARTIFACT, "type": "audio_mp3", "url": _LINK, "duration": 180.0, "name": "chapter1.mp3", "size": 2880000,
    "content_type": "audio/mpeg",
}  # fmt: skip
_SHOWN = {
    "id": _JOB,
    "kind": "narrate_book",
    "queue": "default",
    "state": "running",
    "priority": 0,
    "attempt": 1,
    "max_attempts": 5,
    "parent": None,
    "owner": "alice",
    "org": None,
    "cancel_requested": False,
    "args": {"book_id": "b1"},
    "progress": {
        "percent": 45,
        "phase": "text",
        "done": 7,
        "total": 16,
        "failed": None,
        "message": "Generating chapter: Hunger...",
        "reason": None,
    },
    "output": None,
    "created_at": _CREATED,
    "run_at": _CREATED,
    "started_at": _BEGAN,
    "finished_at": None,
    "error": None,
    "artifacts": [_ARTIFACT_LINK],
}

_ASKED = {
    "job": _JOB,
    "kind": "ship_order",
    "queue": "default",
    "owner": "alice",
    "org": None,
    "step": "approve: Ship order 7?",
    "question": "Ship order 7?",
    "details": {"total": 120},
    "by": "operator",
    "since": _BEGAN,
    "until": None,
}

EXAMPLES: dict[str, Any] = {
    # Jobs.
    "StartRequest": {"kind": "export_pdf", "args": {"document_id": "d1"}},
    "Started": {"id": _JOB, "state": "ready", "created": True},
    "BatchRequest": {
        "jobs": [
            {"kind": "export_pdf", "args": {"document_id": "d1"}},
            {"kind": "export_pdf", "args": {"document_id": "d2"}, "delay": 60},
        ]
    },
    "StartedBatch": {
        "id": _BATCH,
        "created": True,
        "jobs": [{"id": _JOB, "kind": "export_pdf"}, {"id": _OTHER, "kind": "export_pdf"}],
    },
    "EventRequest": {"event": "paid", "key": "order-7", "payload": {"amount": 12}},
    "Emitted": {"job": _JOB},
    "ApprovalRequest": {"approved": True, "comment": "checked with the customer"},
    "Approved": {"id": _JOB, "step": "approve: Ship order 7?"},
    "AskedApproval": _ASKED,
    "ApprovalPage": {"approvals": [_ASKED], "next_cursor": None},
    "Job": _SHOWN,
    "JobPage": {"jobs": [{**_SHOWN, "artifacts": []}], "next_cursor": None, "searched_back_to": None},
    "Workers": {
        "workers": [
            {
                "lease": 17,
                "worker": "jobs-1:4711",
                "host": "jobs-1",
                "pid": 4711,
                "queues": ["default"],
                "started_at": "2026-01-31T11:00:00Z",
                "heard_at": "2026-01-31T12:00:00Z",
                "memory": 81_000_000,
                "load": 0.4,
                "slots": 20,
                "running": [
                    {
                        "id": _JOB,
                        "kind": "export_pdf",
                        "queue": "default",
                        "attempt": 1,
                        "since": "2026-01-31T11:59:00Z",
                        "seconds": 61.2,
                        "cancel_requested": False,
                    }
                ],
            }
        ]
    },
    "Cancelled": {"id": _JOB, "state": "cancelled", "cancel_requested": False},
    "Retried": {"id": _JOB, "state": "ready"},
    "TickRequest": {"limit": 10, "budget": 25},
    "Ticked": {
        "ok": True,
        "processed": 1,
        "results": [
            {"id": _JOB, "kind": "export_pdf", "state": "succeeded", "attempt": 1, "seconds": 0.25, "error": None}
        ],
    },
    "Kinds": {
        "kinds": [
            {
                "kind": "export_pdf",
                "description": "Exports a document as PDF.",
                "args": {
                    "type": "object",
                    "properties": {"document_id": {"type": "string"}},
                    "required": ["document_id"],
                },
            }
        ]
    },
    # Artifacts.
    "Artifact": {
        "id": _ARTIFACT,
        "job": _JOB,
        "owner": "alice",
        "org": None,
        "kind": "export_pdf",
        "name": "resume.pdf",
        "type": "pdf",
        "content_type": "application/pdf",
        "size": 48211,
        "duration": None,
        "metadata": {"pages": 3},
        "created_at": _ENDED,
        "stored_at": _ENDED,
        "expires_at": None,
        "downloads": 2,
        "digest": _DIGEST,
    },
    "DownloadLink": {"url": _LINK, "expires_at": "2026-01-31T10:00:00Z"},
    "Partial": {"message": "not everything has succeeded yet", "done": 1, "total": 2, "jobs": [_JOB]},
    # Operations.
    "Scale": {
        "queue": "default",
        "paused": False,
        "ready": 120,
        "running": 20,
        "workers": 2,
        "oldest_ready_seconds": 14.2,
        "wanted_workers": 6,
    },
    "UsageReport": {
        "usage": [
            {
                "day": "2026-01-31",
                "org": "acme",
                "kind": "export_pdf",
                "runs": 42,
                "seconds": 63.5,
                "failures": 1,
                "bytes": 2024862,
            }
        ]
    },
    "Health": {"status": "ok"},
    "Stored": {
        "id": _ARTIFACT,
        "job": _JOB,
        "owner": "alice",
        "org": None,
        "kind": "export_pdf",
        "name": "resume.pdf",
        "type": None,
        "path": f"alice/export_pdf/{_JOB}/resume.pdf",
        "content_type": "application/pdf",
        "size": 48211,
        "duration": None,
        "metadata": None,
        "state": "stored",
        "created_at": _ENDED,
        "stored_at": _ENDED,
        "expires_at": None,
        "downloads": 0,
        "digest": _DIGEST,
    },
}
