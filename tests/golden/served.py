"""The log of deliveries whose workspaces have services: one is ready, one is not."""

from domain.delivery.commands import RecordBaseline
from domain.delivery.validation import Baseline, BaselineCommand, Preparation
from domain.session.services import Service
from domain.session.validation import SetupCommand, ValidationStep
from tests.projections.stage import Stage


def services(stage: Stage) -> None:
    """A baseline beside services, and one for which a service was not ready in time."""
    redis = ValidationStep(stage="custom", command="redis-server --port 6379", argv=("redis-server", "--port", "6379"))
    ping = ValidationStep(stage="custom", command="redis-cli ping", argv=("redis-cli", "ping"))
    preparation = Preparation(
        services=(Service(name="redis", command=redis, ready=ping, env={"A": "b"}, seconds=5.0),),
        ports=("PORT", "DB_PORT"),
    )
    test = BaselineCommand(stage="test", command="pytest", startable=True, exit_code=0, passed=True, seconds=1.5)
    late = SetupCommand(
        command="redis-server --port 6379", service="redis", exit_code=-1, passed=False, seconds=5.0, tail="loading"
    )
    for name, found in {"ready": Baseline(commands=(test,)), "late": Baseline(setup=(late,))}.items():
        session = f"delivery-{name}"
        stage.delivers(session, baseline=True, preparation=preparation)
        stage.do(session, RecordBaseline(turn_id=stage.turn(session).turn_id, attempt=1, baseline=found))


SCENES = {"services": services}
