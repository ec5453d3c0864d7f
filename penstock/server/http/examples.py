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
_HELD = {"id": _JOB, "claims": 1}
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

_LEASE = {"lease": 17}
_MINE = {"lease": 17, **_HELD}
_BECAME = [{"id": _JOB, "state": "scheduled", "run_at": _ENDED}]

COMMANDS: dict[str, tuple[Any, Any]] = {
    "open_lease": ({"worker": "gpu-1:4711", "queues": ["default"], "host": "gpu-1", "pid": 4711}, 17),
    "heartbeat": (
        {"lease": 17, "wait": 25, "queues": ["default"]},
        {"alive": True, "cancelling": [], "seconds": 30, "leads": False, "wake": True},
    ),
    "close_lease": (_LEASE, 2),
    "expire_lease": (_LEASE, 2),
    "wait_for_work": ({"lease": 17, "queues": ["default"]}, None),
    "stop_waiting": (_LEASE, None),
    "wake": ({"queue": "default", "jobs": 1}, None),
    "backlog": (
        {"queues": ["default"]}, [{"queue": "default", "ready": 120, "running": 20, "oldest_ready_seconds": 14.2}]
    ),
    "claim": (
        {"lease": 17, "queue": "default", "limit": 5, "wait": 25},
        [
            {
                "id": _JOB, "kind": "export_pdf", "priority": 0, "turn": 0, "attempt": 1, "max_attempts": 5,
                "claims": 1, "snoozes": 0, "owner": "alice", "org": None, "parent": None, "created_at": _CREATED,
                "args": {"document_id": "d1"}, "options": None,
            }
        ],
    ),
    "release_unknown": ({"lease": 17, "known": [_JOB]}, [_OTHER]),
    "report_progress": (
        {"lease": 17, "jobs": [{**_HELD, "progress": {"percent": 40, "message": "page 4", "done": 4, "total": 10}}]},
        [{"id": _JOB, "cancel_requested": False}],
    ),
    "complete": ({"lease": 17, "jobs": [{**_HELD, "output": {"pages": 3}}]}, []),
    "complete_and_enqueue": (
        {"lease": 17, "job": {**_HELD, "output": {"pages": 3}}, "enqueue": [{"kind": "announce"}]}, True
    ),
    "fail": (
        {"lease": 17, "jobs": [{**_HELD, "error": {"error": "the provider did not answer", "type": "TimeoutError"}}]},
        _BECAME,
    ),
    "snooze": ({"lease": 17, "jobs": [{**_HELD, "seconds": 30}]}, _BECAME),
    "park": ({"lease": 17, "jobs": [{**_HELD, "reason": "this worker has no handler of kind 'rotate'"}]}, _BECAME),
    "release": ({"lease": 17, "jobs": [_HELD]}, [_JOB]),
    "report_statistics": (
        {"lease": 17, "memory": 81_000_000, "load": 0.4, "slots": 20,
         "runs": [{"queue": "exports", "kind": "export_pdf", "succeeded": 12, "failed": 1, "ran": [0, 0, 9, 4],
                   "ran_seconds": 0.04}],
         "errors": [{"kind": "export_pdf", "queue": "exports", "message": "timed out after <number> s",
                     "type": "Timeout", "attempts": 1, "jobs": 1, "example": _JOB}]},
        None,
    ),
    "stop_cancelled": ({"lease": 17, "jobs": [_HELD], "reason": "cancelled by its owner"}, [_JOB]),
    "remember_step": ({**_MINE, "name": "fetch", "output": {"rows": 3}}, True),
    "recall_steps": (_MINE, [{"name": "fetch", "output": {"rows": 3}}]),
    "suspend": (
        {**_MINE, "step": {"name": "sleep", "kind": "sleep", "number": 1, "seconds": 3600}},
        {"state": "scheduled", "run_at": "2026-01-31T13:00:00Z"},
    ),
    "outputs": (
        _MINE,
        [
            {
                "id": _OTHER, "name": "transcribe", "kind": "transcribe", "phase": "text", "state": "succeeded",
                "args": {"document_id": "d1"}, "output": {"words": 1200},
            }
        ],
    ),
}  # fmt: skip
"""Of each command of a worker's: what is sent, and what it gives."""
