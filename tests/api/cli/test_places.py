"""Places that settings name: what cannot be used is said at the start, with the setting's name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from api.node.checkpoint_place import path_of
from api.node.places import is_beside_the_log, reveals_the_log, unfit_places
from api.node.settings import Settings
from tests.api.cli.conftest import Hansard

TO = "HANSARD_CHECKPOINT_TO: "


def settings(folder: Path, **more: object) -> Settings:
    return Settings(**{"database": f"sqlite:///{folder / 'log.db'}", "data_dir": folder / "node", **more})


def said(folder: Path, **more: object) -> list[str]:
    return [f"{fault.setting}: {fault.problem}" for fault in unfit_places(settings(folder, **more))]


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("worklog_folder", "logs", "must be an absolute path, not logs"),
        ("worklog_folder", "./logs", "must be an absolute path, not logs"),
        ("checkpoint_to", "some/checkpoint.txt", "must be an absolute path, not some/checkpoint.txt"),
        ("checkpoint_to", "./keep.sh now", "must be an absolute path, not ./keep.sh"),
        ("checkpoint_to", "'/srv/x", "has an unbalanced quote"),
    ],
)
def test_what_no_machine_could_use_is_no_setting(setting: str, value: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Settings(**{setting: value})


def test_blanks_are_no_place() -> None:
    assert Settings(checkpoint_to="  ").checkpoint_to == ""


def test_good_places_are_not_named(tmp_path: Path) -> None:
    (tmp_path / "with blanks").mkdir()
    places: list[dict[str, object]] = [
        {},
        {"worklog_folder": tmp_path / "made" / "later", "checkpoint_to": str(tmp_path / "newest.txt")},
        {"worklog_folder": tmp_path / "node" / "worklogs", "checkpoint_to": str(tmp_path)},
        {"checkpoint_to": f"'{tmp_path}/with blanks/c.txt'"},
        {"checkpoint_to": f"{sys.executable} -c pass"},
        {"checkpoint_to": sys.executable},
        {"checkpoint_to": "cat"},
    ]
    for place in places:
        assert said(tmp_path, **place) == [], place
    assert path_of(f"'{tmp_path}/with blanks/c.txt'") == tmp_path / "with blanks" / "c.txt"


def test_places_that_cannot_be_used_are_named_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    node, log = tmp_path / "node", tmp_path / "log.db"
    (node / "workspaces").mkdir(parents=True)
    ours = f"is in a folder that Hansard keeps for itself in {node}; name another place"
    cases: list[tuple[dict[str, object], str]] = [
        ({"worklog_folder": tmp_path / "file"}, f"HANSARD_WORKLOG_FOLDER: {tmp_path / 'file'} is not a folder"),
        ({"worklog_folder": tmp_path / "file" / "x"}, f"HANSARD_WORKLOG_FOLDER: {tmp_path / 'file'} is not a folder"),
        ({"worklog_folder": "/proc/x"}, "HANSARD_WORKLOG_FOLDER: /proc is not writable for this user"),
        ({"worklog_folder": node / "homes" / "x"}, f"HANSARD_WORKLOG_FOLDER: {node / 'homes' / 'x'} {ours}"),
        ({"data_dir": tmp_path / "file"}, f"HANSARD_DATA_DIR: {tmp_path / 'file'} is not a folder"),
        ({"data_dir": "/proc/foo"}, "HANSARD_DATA_DIR: /proc is not writable for this user"),
        (
            {"database": f"sqlite:///{node}/workspaces/log.db"},
            f"HANSARD_DATA_DIR: the log {node}/workspaces/log.db would be in a folder that Hansard keeps for its agents"
            f" in {node}; name another data folder or another log",
        ),
        ({"checkpoint_to": str(tmp_path / "no" / "c.txt")}, f"{TO}there is no folder {tmp_path}/no"),
        (
            {"checkpoint_to": str(tmp_path / "pipe")},
            f"{TO}{tmp_path}/pipe is neither a file nor a folder",
        ),
        (
            {"checkpoint_to": f"{log}-wal"},
            f"{TO}{log}-wal is the log itself, which a checkpoint would"
            " overwrite; name another file, a folder or a command",
        ),
        ({"checkpoint_to": str(node / "workspaces")}, f"{TO}{node / 'workspaces'} {ours}"),
        ({"checkpoint_to": str(node / "signing.key")}, f"{TO}{node / 'signing.key'} {ours}"),
        (
            {"checkpoint_to": "no-such-program now"},
            f"{TO}there is no program no-such-program; a path with blanks needs quotes",
        ),
        (
            {"checkpoint_to": "c.txt"},
            f"{TO}there is no program c.txt; expected an absolute path to a file or folder, or a command",
        ),
    ]
    for more, words in cases:
        assert said(tmp_path, **more) == [words]


def test_a_checkpoint_beside_the_log_proves_little(tmp_path: Path) -> None:
    for place, beside in (
        (str(tmp_path / "c.txt"), True),
        (str(tmp_path / "node" / "c"), True),
        (str(tmp_path.parent / "c"), False),
        ("cat", False),
        ("", False),
    ):
        assert is_beside_the_log(settings(tmp_path, checkpoint_to=place)) == beside, place


def test_a_data_folder_beside_the_log_reveals_it(tmp_path: Path) -> None:
    assert reveals_the_log(settings(tmp_path)) and reveals_the_log(settings(tmp_path, data_dir=tmp_path))
    assert not reveals_the_log(settings(tmp_path, data_dir=tmp_path.parent / "elsewhere"))
    assert not reveals_the_log(settings(tmp_path, database=f"sqlite:///{tmp_path}/node/log/log.db"))


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_process_that_stays_refuses_bad_places_before_it_begins(
    hansard: Hansard, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANSARD_WORKLOG_FOLDER", "/proc/x")
    monkeypatch.setenv("HANSARD_CHECKPOINT_TO", "no-such-program now")
    result = hansard(command)
    assert result.code == 2
    assert "HANSARD_WORKLOG_FOLDER: /proc is not writable for this user" in result.err
    assert (f"{TO}there is no program" in result.err) == (command == "serve")
    monkeypatch.setenv("HANSARD_WORKLOG_FOLDER", "logs")
    assert "HANSARD_WORKLOG_FOLDER: must be an absolute path, not logs" in hansard(command).err


def test_the_doctor_names_them_as_well(hansard: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    subprocess.run(["git", "init", "-q", checkout], check=True)
    monkeypatch.setenv("HANSARD_CHECKPOINT_TO", str(tmp_path / "no" / "c.txt"))
    monkeypatch.setenv("HANSARD_WORKLOG_FOLDER", str(checkout / "worklogs"))
    result = hansard("doctor")
    assert result.code == 1
    assert f"fail  settings    HANSARD_CHECKPOINT_TO: there is no folder {tmp_path}/no" in result.out
    assert f"warn  settings    HANSARD_WORKLOG_FOLDER is in the checkout {checkout}" in result.out
    (checkout / ".gitignore").write_text("worklogs/\n")
    monkeypatch.setenv("HANSARD_CHECKPOINT_TO", "cat")
    assert "  settings  " not in hansard("doctor").out
