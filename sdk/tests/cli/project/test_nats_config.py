"""``loadpilot admin nats-config``: its files are for their owners only, and a repeat loses no
key."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from loadpilot.cli import main

if TYPE_CHECKING:
    from pathlib import Path

USAGE = 2
FLEET = ("coordinator", "agent", "operator")
TENANT = ("submitter", "gateway", "watcher")


def written(folder: Path) -> dict[str, str]:
    files = (one for one in folder.rglob("*") if one.is_file())
    return {str(one.relative_to(folder)): one.read_text("utf-8") for one in files}


def config(out: Path, *flags: str, tenants: str = "shop,search") -> int:
    return int(main(["admin", "nats-config", "--out", str(out), "--tenants", tenants, *flags]))


@pytest.mark.parametrize(("flags", "secret"), [((), "user.nk"), (("--passwords",), "nats-token")])
def test_each_user_has_a_folder_and_only_its_owner_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], secret: str
) -> None:
    """Broken if a user lacks its files, if others may read them, or if a secret is printed."""
    out = tmp_path / "nats"
    assert config(out, *flags) == 0
    folders = {f"fleet/{one}" for one in FLEET}
    folders |= {f"{tenant}/{one}" for tenant in ("shop", "search") for one in TENANT}
    files = {f"{one}/{name}" for one in folders for name in (secret, "connect.json")}
    found = written(out)
    assert set(found) == files | {"users.conf"}
    for one in [out, *out.rglob("*")]:
        assert stat.S_IMODE(one.stat().st_mode) == (0o700 if one.is_dir() else 0o600), one
    output = "".join(capsys.readouterr())
    for folder in folders:
        value = found[f"{folder}/{secret}"].strip()
        assert value.partition(":")[2] not in output or not flags
        assert value not in output
        connect = json.loads(found[f"{folder}/connect.json"])
        if flags:
            assert connect["token"] == value
        else:
            assert connect["creds"] == str(out / folder / secret)
            assert value not in found["users.conf"], "the server needs no seed"
    assert len({found[f"{one}/{secret}"] for one in folders}) == len(folders)


def test_a_folder_is_replaced_only_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a second call locks out a fleet, or a rotation keeps an old key."""
    out = tmp_path / "nats"
    assert config(out) == 0
    first = written(out)
    assert config(out) == USAGE
    assert "must be new; --rotate replaces every key" in capsys.readouterr().err
    assert written(out) == first
    assert config(out, "--rotate") == 0
    second = written(out)
    assert set(second) == set(first)
    assert all(second[one] != first[one] for one in first if one.endswith("user.nk"))
    assert {one.name for one in tmp_path.iterdir()} == {"nats"}
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine").write_text("kept", "utf-8")
    assert config(other, "--rotate") == USAGE
    assert written(other) == {"mine": "kept"}


def test_a_rotation_keeps_address_and_certificates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if rotated users connect to another server, or without the certificates they trust."""
    out, cacert = tmp_path / "nats", tmp_path / "ca.pem"
    cacert.write_text("", "utf-8")
    first = ("--nats-url", "tls://nats.example:4222", "--nats-cacert", str(cacert))
    assert config(out, *first) == 0
    for flags, url in (((), first[1]), (("--nats-url", "tls://new:1"), "tls://new:1")):
        assert config(out, "--rotate", *flags) == 0
        found = [json.loads(text) for name, text in written(out).items() if name.endswith(".json")]
        assert {(one["url"], one["cacert"]) for one in found} == {(url, str(cacert))}
    edited = out / "shop" / "gateway" / "connect.json"
    edited.write_text(edited.read_text("utf-8").replace("new:1", "leaf:1"), "utf-8")
    before = written(out)
    assert config(out, "--rotate") == USAGE
    must = "--nats-url: must be given: the users have several, tls://leaf:1, tls://new:1"
    assert must in capsys.readouterr().err
    assert written(out) == before
    assert config(out, "--rotate", "--nats-url", "tls://new:1") == 0
    edited.write_text("[]", "utf-8")
    assert config(out, "--rotate") == USAGE
    assert f"{edited}: must be a connection file" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [(), ("--jwt",), ("--passwords",), ("--accounts",)])
def test_a_rotation_keeps_the_kind_of_users(
    kind: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a rotation without the flags of the first call locks out every program."""
    out = tmp_path / "nats"
    assert config(out, *kind) == 0
    before = written(out)
    for other in ((), ("--jwt",), ("--passwords",), ("--accounts",)):
        if other == kind:
            continue
        assert config(out, "--rotate", *other) == USAGE
        refused = capsys.readouterr().err
        assert all(f"{flag}: must be given: used by the folder" in refused for flag in kind)
        assert all(f"{flag}: must not be given" in refused for flag in other)
        assert written(out) == before
    assert config(out, "--rotate", *kind) == 0
    assert set(written(out)) == set(before)


def test_an_account_has_the_storage_that_the_tenants_file_names(tmp_path: Path) -> None:
    """Broken if the account of a tenant has no limit, or that of another."""
    tenants = tmp_path / "tenants.toml"
    tenants.write_text('[tenants.shop]\nmax_stored = "3GiB"\n[tenants.search]\n', "utf-8")
    out = tmp_path / "nats"
    assert config(out, "--accounts", tenants=str(tenants)) == 0
    text = (out / "users.conf").read_text("utf-8")
    shop, search = text.split("    search {")
    assert f"max_file: {3 << 30}," in shop
    assert f"max_file: {10 << 30}," in search
    assert (out / "shop" / "coordinator" / "user.nk").is_file()


@pytest.mark.parametrize(
    ("tenants", "flags", "said"),
    [
        ("shop,Shop", (), "--tenants: must be names of 1 to 128 characters out of a-z 0-9 _ -"),
        ("shop,shop", (), "--tenants: must name each tenant once (got 'shop')"),
        ("shop,fleet", (), "--home: must not be one of the tenants (got 'fleet')"),
        ("shop", ("--home", "A.b"), "--home: must be 1 to 128 characters out of a-z 0-9 _ -"),
        ("shop", ("--nats-url", "http://x"), "--nats-url: must be nats://host:port or tls://"),
        ("shop", ("--nats-cacert", "none.pem"), "--nats-cacert: must be a file of certificates"),
        ("shop", ("--jwt", "--passwords"), "--passwords: has no meaning with --jwt"),
        ("shop", ("--expires", "1h"), "--expires: needs --jwt"),
        ("signing", ("--jwt",), "--tenants: must not be signing, the folder of keys that sign"),
        ("none.toml", (), "--tenants: none.toml is not readable as TOML"),
    ],
)
def test_what_cannot_be_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    tenants: str,
    flags: tuple[str, ...],
    said: str,
) -> None:
    """Broken if a mistake writes anything, or is not named."""
    out = tmp_path / "nats"
    assert config(out, *flags, tenants=tenants) == USAGE
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_a_size_in_the_tenants_file_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a limit that cannot be read is left out."""
    tenants = tmp_path / "tenants.toml"
    tenants.write_text('[tenants.shop]\nmax_stored = "much"\n', "utf-8")
    assert config(tmp_path / "nats", tenants=str(tenants)) == USAGE
    assert "tenants.shop.max_stored: must be a size" in capsys.readouterr().err
