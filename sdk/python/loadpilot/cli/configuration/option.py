"""The options of a command as configuration names them, and the options that replace each other.

They are the declared flags themselves: a new flag can be set everywhere at once.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_origin

from cyclopts import Token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cyclopts.argument import Argument

PREFIX = "LOADPILOT_"
"""Prefix of the environment variable of an option."""
SECRET = frozenset({"nats_token"})
"""Options that no file with settings may hold, and no message may show."""
SELECTING = frozenset({"config", "profile"})
"""Options that select a configuration: no file can set them."""
OWN_VARIABLES = frozenset({"env"})
"""Options without a variable: each parameter is a variable with a name of its own."""
FILE = "file"
"""Key of the scenario file, the one argument that can be configured."""
PAIRED = frozenset({"NAME=VALUE", "NAME=INT", "KEY=LIMIT"})
KEYED = frozenset({"NAME=VALUE", "NAME=INT"})
GATES = ("threshold", "slo")
"""Options whose values are gates, one for each key."""

LOOP = ("users", "user_stages", "max", "wait", "session")
REPLAY = ("replay_curve", "replay_run", "scale")
SHAPE = ("mode", "ramp_up", "baseline", "burst", "period")
STEPS = ("rates", "each")
OF_ATTACK = ("rate", *STEPS)
"""Options of the load that only ``attack`` has."""
SCHEDULED = ("rps", *SHAPE, "idle", "stages", *OF_ATTACK)
SCHEDULE = (*SCHEDULED, *REPLAY)
LOGIN = ("nats_token", "nats_token_file", "creds")
CERTIFICATES = ("nats_cacert", "nats_cert", "nats_key")
PREFIXES = ("nats_domain", "nats_api_prefix")
LIMITS = ("nats_connections", "insecure_nats")
SERVER = ("nats_url", *LOGIN, "tenant", *CERTIFICATES, *PREFIXES, *LIMITS)
COORDINATOR = ("coordinator_url", "coordinator_token_file", "coordinator_cacert")
LISTEN = ("listen", "listen_cert", "listen_key", "listen_cacert")
JOINING = ("external_agents", "min_agents", "wait_agents", "need")
REPLACES: Mapping[str, Sequence[str]] = {
    "users": (*SCHEDULE, "user_stages"),
    "user_stages": (*SCHEDULE, "users", "max", "duration"),
    "max": (*SCHEDULE, "user_stages", "wait"),
    "rps": (*LOOP, "stages", *REPLAY, *OF_ATTACK),
    "rate": (*LOOP, "rps", "stages", *REPLAY, *STEPS),
    **dict.fromkeys(STEPS, (*LOOP, "rps", "rate", *SHAPE, "duration", "stages", *REPLAY)),
    **dict.fromkeys(SHAPE, (*LOOP, "stages", *REPLAY, *STEPS)),
    "idle": (*LOOP, *REPLAY),
    "stages": (*LOOP, "rps", *SHAPE, "duration", *REPLAY, *OF_ATTACK),
    "replay_curve": (*LOOP, *SCHEDULED, "duration", "replay_run"),
    "replay_run": (*LOOP, *SCHEDULED, "duration", "replay_curve"),
    "nats_url": (*COORDINATOR, *LISTEN, "agents"),
    "coordinator_url": (*SERVER, *LISTEN, "agents"),
    "listen": (*SERVER, *COORDINATOR),
    **{one: tuple(other for other in LOGIN if other != one) for one in LOGIN},
    "nats_domain": ("nats_api_prefix",),
    "nats_api_prefix": ("nats_domain",),
    "quiet": ("verbose",),
    "verbose": ("quiet",),
}
"""For each option the options that it makes meaningless. Those in a source of lower precedence are
ignored. Those in the same source contradict it, and the reader of the flags refuses them."""
UNSET: Mapping[str, Sequence[str]] = {
    "nats_url": (*SERVER, *COORDINATOR, *JOINING, "detach"),
    "coordinator_url": COORDINATOR,
}
"""Options that an empty address replaces; without a server the run is for this machine."""
EQUIVALENT: Mapping[str, Sequence[str]] = {
    "NATS_TOKEN": ("creds", "nats_token_file"),
    "NATS_TOKEN_FILE": ("creds", "nats_token_file"),
    "NATS_CREDS": ("creds", "nats_token_file"),
    "NATS_CACERT": ("nats_cacert",),
    "NATS_CERT": ("nats_cert",),
    "NATS_KEY": ("nats_key",),
    "NATS_DOMAIN": PREFIXES,
    "NATS_API_PREFIX": PREFIXES,
    "NATS_CONNECTIONS": ("nats_connections",),
}
"""Variables of NATS, with the options of files that they take precedence over."""


class Kind(enum.Enum):
    """Form of the values of an option."""

    SWITCH = "true or false"
    TEXT = "text or a number"
    LIST = "a list of texts"
    PAIRS = "a table, or a list of texts"


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of an option in one source."""

    texts: tuple[str, ...]
    """As they are typed on the command line; ``true`` or ``false`` for a switch."""
    place: str

    @property
    def is_set(self) -> bool:
        """Whether it is more than a switch that is off, or an empty text."""
        return self.texts not in (("false",), ("",), ())


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command."""

    key: str
    """Its name in a file: ``warm_up``."""
    argument: Argument

    @property
    def flag(self) -> str:
        """Its name in messages: ``--warm-up``, or ``FILE``."""
        return "FILE" if self.key == FILE else self.argument.name

    @property
    def variable(self) -> str | None:
        """Its environment variable, ``LOADPILOT_WARM_UP``; None without one."""
        return None if self.key in OWN_VARIABLES else f"{PREFIX}{self.key.upper()}"

    @property
    def kind(self) -> Kind:
        """Form of its values."""
        hint = self.argument.hint
        if hint is bool:
            return Kind.SWITCH
        if get_origin(hint) not in (tuple, list):
            return Kind.TEXT
        return Kind.PAIRS if self.argument.parameter.metavar in PAIRED else Kind.LIST

    def written(self) -> Setting | None:
        """Return the value on the command line; None when it does not name the option."""
        tokens = self.argument.tokens
        if not tokens:
            return None
        if self.kind is Kind.SWITCH:
            return Setting((str(bool(tokens[-1].implicit_value)).lower(),), self.flag)
        return Setting(tuple(token.value for token in tokens), self.flag)

    def replace(self, texts: Iterable[str], place: str) -> None:
        """Set this value, as if it were written on the command line."""
        keyword = None if self.key == FILE else self.flag
        if self.kind is Kind.SWITCH:
            on = [text == "true" for text in texts]
            tokens = [Token(keyword=keyword, implicit_value=one, source=place) for one in on]
        else:
            tokens = [Token(keyword=keyword, value=text, source=place) for text in texts]
        self.argument.tokens = tokens

    def merged(self, higher: tuple[str, ...], lower: tuple[str, ...]) -> tuple[str, ...]:
        """Merge the values of one source with those of the sources of higher precedence.

        Only pairs are merged, by their names. Gates of two sources may have the same key: the last
        counts.
        """
        if self.kind is not Kind.PAIRS:
            return higher
        names = set()
        if self.argument.parameter.metavar in KEYED:
            names = {text.partition("=")[0] for text in higher}
        return (*(one for one in lower if one.partition("=")[0] not in names), *higher)


def options_of(arguments: Iterable[Argument]) -> dict[str, Option]:
    """List the options of a command by key."""
    found = {}
    for argument in arguments:
        if argument.children or not argument.parse:
            continue
        if argument.name.startswith("--"):
            key = argument.name[2:].replace("-", "_")
        elif argument.field_info.name == FILE:
            key = FILE
        else:
            continue
        found[key] = Option(key, argument)
    return found


def replaced_by(key: str, setting: Setting) -> Sequence[str]:
    """List the options that an option makes meaningless."""
    if key == "mode" and setting.is_set:
        from ...compile.scenario.mode import OF_MODES  # noqa: PLC0415  (start-up is a promise)

        mode = setting.texts[-1]
        return (*REPLACES[key], *(one for one, modes in OF_MODES.items() if mode not in modes))
    return (REPLACES if setting.is_set else UNSET).get(key, ())
