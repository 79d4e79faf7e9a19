"""Loads a scenario file: executes it as Python does, and finds the scenarios in it.

The file is the user's code and may do anything while it is imported: fail, print, exit. Each
failure becomes one message with the user's own lines. Its standard output goes to standard error,
because standard output belongs to the plan and the summary.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType

from ..dsl import spec_of
from ..inputs.params import ParameterError, ParameterSource, use_parameters_of
from ..problem import Problem, Refused
from . import locks
from .source import SourceFile, Sources

PACKAGE = str(Path(__file__).resolve().parents[1])
"""Folder of this package; frames below it are not the user's."""
MODULE_PREFIX = "loadpilot_scenario_"
"""Prefix of the scenario's module name, so that it does not hide a module named like the file."""
SCENARIO_BYTES_MAX = 4 * 1024 * 1024
"""Maximum size of a scenario file, in bytes; data belongs in files of its own."""


@dataclass(frozen=True)
class Loaded:
    """A scenario file after loading."""

    file: SourceFile
    scenarios: dict[str, type]
    """Its scenario classes by name, in the order of the file; at least one."""
    sources: Sources
    parameters: ParameterSource
    """The source of its parameters, with those requested so far."""


_loading: list[Path] = []
"""The file that is being loaded."""


def is_loading() -> bool:
    """Whether the caller is a scenario file that is being loaded."""
    return bool(_loading)


def load(path: Path, parameters: ParameterSource | None = None) -> Loaded:
    """Load a scenario file; raises :class:`Refused`.

    ``parameters`` is the source of its parameters; default: the environment.
    """
    parameters = parameters or ParameterSource()
    use_parameters_of(parameters)
    text = _read(path)
    sources = Sources()
    try:
        tree = ast.parse(text, str(path))
        code = compile(tree, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Refused([_syntax(error, path)]) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused([Problem(str(path), f"is not Python: {error}")]) from None
    file = sources.add(str(path), tree)
    module = ModuleType(MODULE_PREFIX + path.stem)
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(path.resolve().parent))
    linecache.checkcache(str(path))
    _loading.append(path)
    try:
        with contextlib.redirect_stdout(sys.stderr), locks.thread_locks_replaced():
            exec(code, module.__dict__)  # noqa: S102  (loading the user's file is the purpose)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (user code: any error is the user's)
        raise Refused([_import_problem(error, file)]) from None
    finally:
        _loading.remove(path)
    return Loaded(file, _scenarios(module, file), sources, parameters)


def choose(loaded: Loaded, name: str | None) -> type:
    """Return the scenario ``name``, or the only one; else raises :class:`Refused` with a list."""
    names = list(loaded.scenarios)
    if name is None and len(names) == 1:
        return loaded.scenarios[names[0]]
    if name in loaded.scenarios:
        return loaded.scenarios[name]
    listed = ", ".join(names)
    if name is None:
        what = (
            f"defines {len(names)} scenarios, choose one with --scenario: {listed}; to run several "
            "together, give each a share with @scenario(share=…) or --share NAME=INT"
        )
    else:
        what = f"defines no scenario {name!r}; it defines {listed}"
    raise Refused([Problem(loaded.file.shown, what)])


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise Refused([Problem(str(path), "is a directory; name a scenario file")])
        with path.open("rb") as file:
            text = file.read(SCENARIO_BYTES_MAX + 1)
    except FileNotFoundError:
        raise Refused([Problem(str(path), "no such file")]) from None
    except (OSError, ValueError) as error:
        what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise Refused([Problem(repr(str(path)), what)]) from None
    if len(text) > SCENARIO_BYTES_MAX:
        what = f"is larger than {SCENARIO_BYTES_MAX // 1024 // 1024} MiB"
        raise Refused([Problem(str(path), what)])
    return text


def _scenarios(module: ModuleType, file: SourceFile) -> dict[str, type]:
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    marked = {cls: None for cls in classes if spec_of(cls) is not None}
    own = [cls for cls in marked if cls.__module__ == module.__name__]
    if own:
        names = [cls.__name__ for cls in own]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise Refused(
                [Problem(file.shown, f"defines scenario {name!r} twice") for name in twice]
            )
        return dict(zip(names, own, strict=True))
    what = "defines no scenario: mark a class with @scenario(…) and its methods with @task"
    if marked:
        names = [f"{cls.__name__} of {cls.__module__}" for cls in marked]
        what += f"; scenarios that it only imports do not count: {', '.join(names)}"
    what += _port_hint(file)
    raise Refused([Problem(file.shown, what)])


def _syntax(error: SyntaxError, path: Path) -> Problem:
    """Build the problem of a syntax error."""
    place = f"{error.filename or path}:{error.lineno or 1}"
    line = (error.text or "").strip()
    return Problem(
        place, f"{type(error).__name__}: {error.msg}" + (f" in `{line}`" if line else "")
    )


def _import_problem(error: BaseException, file: SourceFile) -> Problem:
    """Build the problem of an error that the file raised on import, with the user's frames."""
    if isinstance(error, SyntaxError):
        return _syntax(error, Path(file.path))
    frames = user_frames(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else file.shown
    if isinstance(error, SystemExit):
        code = "" if error.code is None else repr(error.code)
        what = (
            f"called sys.exit({code}) while it was imported; a scenario file only defines classes"
        )
    elif isinstance(error, ParameterError):
        what = str(error)
    elif isinstance(error, ImportError):
        what = f"{type(error).__name__} while it was imported: {error}{_port_hint(file)}"
    else:
        what = f"{type(error).__name__} while it was imported" + (
            f": {error}" if str(error) else ""
        )
    if len(frames) > 1:
        what += "".join(f"\n    from {f.filename}:{f.lineno} `{f.line}`" for f in frames[:-1])
    return Problem(place, what)


def _port_hint(file: SourceFile) -> str:
    """Name the page about Locust for a file that imports it; else nothing."""
    for node in ast.walk(file.tree):
        match node:
            case ast.Import(names=names):
                modules = [one.name for one in names]
            case ast.ImportFrom(module=str() as module):
                modules = [module]
            case _:
                continue
        if any(module.partition(".")[0] == "locust" for module in modules):
            return "; this is a file of Locust: see docs/migrate/locust.md"
    return ""


def user_frames(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """Return the frames outside of this package and the import machinery."""
    return [
        frame
        for frame in traceback.extract_tb(trace)
        if not frame.filename.startswith((PACKAGE, "<frozen "))
    ]
