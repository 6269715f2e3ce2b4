"""What a killed run was writing goes; what is anybody else's stays."""

from __future__ import annotations

from pathlib import Path

from longdoc.training.checkpointing import remove_leftovers


def test_only_names_that_are_given_to_what_is_not_whole_yet_are_removed(tmp_path: Path) -> None:
    output = tmp_path / "run"
    ours = (
        "run/.config.resolved.yaml.4711.tmp",
        "run/.config.resolved.yaml.4711-0123abcd.tmp",
        "run/checkpoints/.step-000003.0123456789ab.tmp/weights",
        ".run.0123456789ab.tmp/config.json",
    )
    theirs = (
        "run/notes.tmp",
        "run/.hidden",
        "run/.notes.tmp",
        "run/checkpoints/step-000002/weights",
        "other/.config.resolved.yaml.4711.tmp",
        ".run.backup.tmp",
        ".running.0123456789ab.tmp/config.json",
    )
    for name in (*ours, *theirs):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    remove_leftovers(output)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()) == sorted(theirs)
    remove_leftovers(tmp_path / "none")
