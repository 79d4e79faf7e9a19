"""``loadpilot admin nats-user`` and ``nats-revoke``: what they refuse before they write anything.
The test of their files with a server is in tests/deploy/roles."""

from __future__ import annotations

import json
import stat
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Any

import pytest

from loadpilot.cli import main

if TYPE_CHECKING:
    from pathlib import Path

USAGE = 2
NEW = ("--role", "submitter", "--tenant", "shop", "--out")


def admin(*words: object) -> int:
    return int(main(["admin", *map(str, words)]))


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    folder = tmp_path / "nats"
    assert admin("nats-config", "--out", folder, "--tenants", "shop", "--jwt") == 0
    return folder


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    folder = tmp_path / "hard"
    words = ("--out", folder, "--tenants", "shop,search", "--jwt", "--accounts")
    assert admin("nats-config", *words) == 0
    return folder


def claims(text: str) -> dict[str, Any]:
    part = text.split(".")[1]
    found: dict[str, Any] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def test_no_seed_is_where_a_server_or_a_reader_sees_it(
    keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if the configuration contains a seed, if a seed is printed, or if others may read a
    file."""
    creds = keys.parent / "one.creds"
    assert admin("nats-user", "--keys", keys, *NEW, creds) == 0
    output = "".join(capsys.readouterr()) + (keys / "operator.conf").read_text("utf-8")
    files = [one for one in (creds, *keys.rglob("*")) if one.is_file()]
    seeds = {
        line
        for one in files
        for line in one.read_text("utf-8").splitlines()
        if line.startswith(("SU", "SA", "SO"))
    }
    signing, users = 9, 7
    assert len(seeds) == signing + users
    assert not [one for one in seeds if one in output]
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}


def test_lifetimes_are_in_the_jwt(keys: Path, tmp_path: Path) -> None:
    """Broken if the server reads another time than --expires, or if a renewal keeps the old end."""
    creds = tmp_path / "one.creds"
    assert admin("nats-user", "--keys", keys, *NEW, creds, "--expires", "90d") == 0
    found = claims(creds.read_text("utf-8"))
    assert found["exp"] - found["iat"] == 90 * 86_400
    assert found["nats"]["tags"] == ["tenant:shop"]
    assert admin("nats-user", "--keys", keys, "--renew", creds) == 0
    renewed = claims(creds.read_text("utf-8"))
    assert "exp" not in renewed
    assert renewed["sub"] == found["sub"]
    out = tmp_path / "short"
    words = ("--out", out, "--tenants", "shop", "--jwt", "--expires", "2h")
    assert admin("nats-config", *words) == 0
    found = claims((out / "shop" / "watcher" / "user.creds").read_text("utf-8"))
    assert found["exp"] - found["iat"] == 7_200


def test_an_account_each_has_keys_of_its_own(hard: Path, tmp_path: Path) -> None:
    """Broken if a user of one tenant is signed into the account of another."""
    of = {}
    for tenant in ("shop", "search"):
        creds = tmp_path / f"{tenant}.creds"
        words = ("--role", "coordinator", "--tenant", tenant, "--out", creds)
        assert admin("nats-user", "--keys", hard, *words) == 0
        found = claims(creds.read_text("utf-8"))["nats"]
        assert found["tags"] == []
        of[tenant] = found["issuer_account"]
    config = (hard / "operator.conf").read_text("utf-8")
    for tenant, account in of.items():
        assert f"# {tenant}\n    {account}: " in config
    assert len(set(of.values())) == len(of)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--keys: must be given: the folder that `loadpilot admin nats-config --jwt` wrote"),
        (("--keys", "none", *NEW, "x"), "--keys: must be a folder that `loadpilot admin"),
        (("--keys", "{keys}"), "--role: must be given"),
        (("--keys", "{keys}", *NEW, "{keys}/operator.conf"), "--out: must be a new file"),
        (("--keys", "{keys}", *NEW, "x", "--name", "a b"), "--name: must be 1 to 128"),
        (("--keys", "{keys}", *NEW, "x", "--expires", "soon"), "--expires: must be a duration"),
        (
            ("--keys", "{keys}", "--role", "watchr", "--tenant", "shop", "--out", "x"),
            "--role: must be one of submitter, gateway, watcher; did you mean watcher?",
        ),
        (
            ("--keys", "{keys}", "--role", "agent", "--tenant", "shop", "--out", "x"),
            "--role: must be one of submitter, gateway, watcher (got 'agent')",
        ),
        (
            ("--keys", "{keys}", "--role", "watcher", "--tenant", "fleet", "--out", "x"),
            "--role: must be one of coordinator, agent, operator (got 'watcher')",
        ),
        (
            ("--keys", "{keys}", "--role", "watcher", "--tenant", "*", "--out", "x"),
            "--tenant: must be 1 to 128 characters out of a-z 0-9 _ - (got '*')",
        ),
        (
            ("--keys", "{keys}", "--renew", "{keys}/operator.conf"),
            "--renew: must be a credentials file that `loadpilot admin` wrote",
        ),
        (("--keys", "{keys}", *NEW, "x", "--renew", "x"), "--role: has no meaning with --renew"),
        (
            ("--keys", "{hard}", "--role", "watcher", "--tenant", "shp", "--out", "x"),
            "--tenant: must be one of search, shop; did you mean shop?",
        ),
        (
            ("--keys", "{keys}", "--renew", "{hard}/shop/agent/user.creds"),
            "--renew: must be of an account in --keys, whose signing keys did not sign it",
        ),
    ],
)
def test_what_cannot_be_is_named(
    keys: Path,
    hard: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    """Broken if a mistake writes a file, or is not named."""
    monkeypatch.chdir(keys.parent)
    capsys.readouterr()
    assert admin("nats-user", *(one.format(keys=keys, hard=hard) for one in words)) == USAGE
    assert said in capsys.readouterr().err
    assert not (keys.parent / "x").exists()


def test_a_key_that_does_not_sign_for_the_account_is_refused(
    keys: Path, hard: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if users are signed that every server refuses, or a readable seed is used."""
    seed = keys / "signing" / "fleet" / "submitter.nk"
    own = seed.read_text("utf-8")
    words = ("nats-user", "--keys", keys, *NEW, keys.parent / "x")
    seed.write_text((hard / "signing" / "shop" / "submitter.nk").read_text("utf-8"), "utf-8")
    assert admin(*words) == USAGE
    assert "must be the signing key of submitter in operator.conf" in capsys.readouterr().err
    seed.write_text(own, "utf-8")
    seed.chmod(0o644)
    assert admin(*words) == USAGE
    assert "submitter.nk: must be readable by its owner only" in capsys.readouterr().err
    seed.unlink()
    assert admin(*words) == USAGE
    assert "must hold the seed of a key of kind account, and is not there" in (
        capsys.readouterr().err
    )


def test_a_revocation_is_in_the_account_and_needs_the_operator(
    keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a revocation is lost, replaces another, or is written without the operator."""
    config = keys / "operator.conf"
    for name in ("one", "two"):
        creds = tmp_path / f"{name}.creds"
        assert admin("nats-user", "--keys", keys, *NEW, creds) == 0
        assert admin("nats-revoke", "--keys", keys, "--creds", creds) == 0
    jwt = next(
        line.split(": ")[1]
        for line in config.read_text("utf-8").splitlines()
        if line.startswith("    A") and "revocations" in claims(line)["nats"]
    )
    subjects = {
        claims((tmp_path / f"{one}.creds").read_text("utf-8"))["sub"] for one in ("one", "two")
    }
    assert set(claims(jwt)["nats"]["revocations"]) == subjects
    before = config.read_text("utf-8")
    assert admin("nats-revoke", "--keys", keys, "--user", "anna") == USAGE
    assert "--user: must be the public key of a user" in capsys.readouterr().err
    assert admin("nats-revoke", "--keys", keys) == USAGE
    assert "--creds: must be given, or --user instead of it" in capsys.readouterr().err
    (keys / "signing" / "operator.nk").unlink()
    assert admin("nats-revoke", "--keys", keys, "--user", subjects.pop()) == USAGE
    assert "operator.nk: must hold the seed of a key of kind operator" in capsys.readouterr().err
    assert config.read_text("utf-8") == before
