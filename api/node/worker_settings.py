"""The settings of this process, as those who run turns take them."""

from adapters.fence.choice import Sandbox
from adapters.processes.limits import SystemLimits
from adapters.turns.settings import WorkerSettings
from adapters.workspace import Room
from api.node.settings import Settings
from domain.delivery.validation import prefixes


def worker_settings(settings: Settings, sandbox: Sandbox = "auto") -> WorkerSettings:
    return WorkerSettings(
        log=settings.log_file,
        keys=(settings.api_keys_file,) if settings.api_keys_file else (),
        sandbox=sandbox,
        room=Room(settings.workspace_files, settings.workspace_bytes),
        slots=settings.worker_slots,
        lease=settings.lease_seconds,
        heartbeat=min(settings.heartbeat_seconds, settings.lease_seconds / 3),
        validation_timeout=settings.validation_seconds,
        setup_timeout=settings.setup_seconds,
        output_bytes=settings.output_bytes,
        disk_reserve=settings.disk_reserve_bytes,
        command_limits=SystemLimits(
            memory_bytes=settings.command_memory_bytes,
            cpu_seconds=settings.command_cpu_seconds,
            processes=settings.command_processes,
            file_bytes=settings.command_file_bytes,
        ),
        commands_allowed=prefixes(settings.commands_allowed),
    )
