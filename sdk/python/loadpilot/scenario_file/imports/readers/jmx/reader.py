"""Reads test plans of JMeter: thread groups, HTTP samplers and the elements in their scope."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...imported_scenario import Imported, Step, Task, UserType
from ...names import class_name, method_name
from .properties import Properties, Texts
from .requests import assertion, extraction, sampler
from .xml_document import xml_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...imported_scenario import Request
    from ...source import Source
    from .xml_document import Element

GROUPS = frozenset({"ThreadGroup", "SetupThreadGroup", "PostThreadGroup"})
SILENT = frozenset(
    {
        *(
            "CookieManager",
            "DNSCacheManager",
            "ResultCollector",
            "Summariser",
            "ViewResultsFullVisualizer",
        ),
        *("GenericController", "LoopController", "TransactionController"),
    }
)
"""Elements that are dropped without a note: users always keep cookies, and runs have a report."""
DURATION_MAX_S = 30 * 86_400
THREADS_MAX = 1_000_000


@dataclass(slots=True)
class Scope:
    """The settings that apply to a sampler, from the elements around it."""

    defaults: list[Properties] = field(default_factory=list)
    headers: list[Properties] = field(default_factory=list)
    pauses: list[tuple[float, float]] = field(default_factory=list)
    assertions: list[Properties] = field(default_factory=list)
    extractors: list[Properties] = field(default_factory=list)
    names: tuple[str, ...] = ()
    """Names of the controllers around it."""

    def inner(self) -> Scope:
        """Return a scope that begins with the settings of this one."""
        return replace(
            self,
            defaults=list(self.defaults),
            headers=list(self.headers),
            pauses=list(self.pauses),
            assertions=list(self.assertions),
            extractors=list(self.extractors),
        )


def read_jmx(source: Source) -> Imported:
    """Read the enabled parts of a test plan: a user type for each thread group."""
    root = xml_document(source)
    if root.tag != "jmeterTestPlan":
        raise source.refuse(f"line {root.line}", f"must be a jmeterTestPlan, not {root.tag[:40]!r}")
    reader = _Reader(source, Imported("import jmx", source.name))
    for tree in root:
        if tree.tag == "hashTree":
            reader.variables(tree)
            reader.tree(tree, Scope(), None)
    source.check()
    shares = [users.settings.pop("share") for users in reader.imported.types]
    if len(shares) > 1:
        divisor = math.gcd(*shares)
        _set_the_load_once(reader.imported.types, source)
        for users, share in zip(reader.imported.types, shares, strict=True):
            users.settings = {"share": share // divisor, **users.settings}
    return reader.imported


def _set_the_load_once(types: list[UserType], source: Source) -> None:
    """Add the users of all thread groups up in the first one."""
    loads = [users.settings for users in types]
    longest = max(_length_s(load) for load in loads)
    users = sum(_users(load) for load in loads)
    types[0].settings = {"users": users, "duration": f"{longest:g}s"}
    for one in types[1:]:
        one.settings = {}
    if (
        any(load != loads[0] and "user_stages" in load for load in loads)
        or "user_stages" in loads[0]
    ):
        source.note("", "several thread groups run together from the start: ramp-up is left out")


def _users(load: dict[str, object]) -> int:
    stages = load.get("user_stages")
    return int(stages[0][1]) if isinstance(stages, list) else int(str(load["users"]))


def _length_s(load: dict[str, object]) -> float:
    stages = load.get("user_stages")
    if isinstance(stages, list):
        return sum(float(length.removesuffix("s")) for length, _ in stages)
    return float(str(load["duration"]).removesuffix("s"))


def _pairs(tree: Element) -> Iterator[tuple[Element, Element | None]]:
    """List the elements of a tree, each with the tree below it."""
    children = tree.children
    for at, one in enumerate(children):
        if one.tag != "hashTree":
            after = children[at + 1] if at + 1 < len(children) else None
            yield one, after if after is not None and after.tag == "hashTree" else None


@dataclass(slots=True)
class _Reader:
    source: Source
    imported: Imported

    @property
    def texts(self) -> Texts:
        """Reads texts with the variables of the plan."""
        return Texts(self.source, self.imported)

    def variables(self, tree: Element) -> None:
        """Declare all variables of users and files first: they hold in the whole plan."""
        for one, below in _pairs(tree):
            properties = Properties(one)
            if properties.is_enabled:
                if one.tag in {"Arguments", "TestPlan"}:
                    self.texts.declare(properties)
                elif one.tag == "CSVDataSet":
                    self.texts.declare_columns(properties)
            if below is not None:
                self.variables(below)

    def tree(self, tree: Element, scope: Scope, task: Task | None) -> None:
        """Read a tree: elements beside a sampler apply to it, before or after it."""
        inner = scope.inner()
        pairs = [(one, below) for one, below in _pairs(tree) if Properties(one).is_enabled]
        for one, _ in pairs:
            self.into_scope(one, inner)
        for one, below in pairs:
            if one.tag == "HTTPSamplerProxy" and task is not None:
                self.sampler(one, below, inner, task)
            elif one.tag in GROUPS:
                self.group(one, below, inner)
            elif below is not None:
                names = inner.names
                if one.tag.endswith("Controller"):
                    self.controller(one)
                    if one.tag == "TransactionController":
                        names = (*names, one.attributes.get("testname", "transaction"))
                self.tree(below, replace(inner, names=names), task)

    def into_scope(self, one: Element, scope: Scope) -> None:
        """Add an element to the settings of the samplers beside and below it."""
        properties = Properties(one)
        match one.tag:
            case "ConfigTestElement" if "HttpDefaults" in one.attributes.get("guiclass", ""):
                scope.defaults.append(properties)
            case "HeaderManager":
                scope.headers.append(properties)
            case "ConstantTimer" | "UniformRandomTimer" | "GaussianRandomTimer":
                scope.pauses.append(self.pause(properties))
            case "CookieManager":
                for cookie in properties.collection("CookieManager.cookies"):
                    name = cookie.element.attributes.get("name", "")[:60]
                    place = f"line {cookie.element.line}"
                    self.source.note(place, f"the cookie {name!r} of a manager is not carried over")
            case "ResponseAssertion":
                scope.assertions.append(properties)
            case "JSONPostProcessor":
                scope.extractors.append(properties)
            case "Arguments" | "TestPlan" | "CSVDataSet" | "HTTPSamplerProxy":
                return
            case tag if tag not in GROUPS | SILENT and not tag.endswith("Controller"):
                name = one.attributes.get("testname", "")[:60]
                self.source.note(f"line {one.line}", f"{tag[:60]} {name!r} is not carried over")

    def pause(self, properties: Properties) -> tuple[float, float]:
        """Read a timer, in seconds from and to."""
        delay_ms = self.texts.number(properties, "ConstantTimer.delay", 0)
        range_ms = self.texts.number(properties, "RandomTimer.range", 0)
        if properties.element.tag == "GaussianRandomTimer":
            place = f"line {properties.element.line}"
            self.source.note(
                place, "a normal distribution becomes an even one, two deviations wide"
            )
            return max(0.0, delay_ms - 2 * range_ms) / 1000, (delay_ms + 2 * range_ms) / 1000
        return delay_ms / 1000, (delay_ms + range_ms) / 1000

    def controller(self, one: Element) -> None:
        """Note the effect of a controller that is not carried over."""
        place = f"line {one.line}"
        loops = Properties(one).text("LoopController.loops", "1")
        if one.tag == "LoopController" and loops != "1":
            self.source.note(place, f"a loop of {loops[:20]!r} is written once")
        elif one.tag not in SILENT:
            self.source.note(place, f"{one.tag[:60]}: its requests are written without it")

    def group(self, one: Element, below: Element | None, scope: Scope) -> None:
        """Make a user type of a thread group."""
        properties = Properties(one)
        name = one.attributes.get("testname", "users")
        task = Task(method_name(name))
        users = UserType(class_name(name, "Users"), [task], self.load(properties))
        if one.tag != "ThreadGroup":
            place = f"line {one.line}"
            self.source.note(place, f"{one.tag}: write it as @setup or @teardown; it is left out")
            return
        if below is not None:
            self.tree(below, scope, task)
        if task.requests:
            self.imported.types.append(users)

    def load(self, properties: Properties) -> dict[str, object]:
        """Read threads, ramp-up and duration as settings of a closed loop."""
        texts, place = self.texts, f"line {properties.element.line}"
        threads = int(texts.number(properties, "ThreadGroup.num_threads", 1, THREADS_MAX))
        ramp_s = texts.number(properties, "ThreadGroup.ramp_time", 0, DURATION_MAX_S)
        is_timed = properties.text("ThreadGroup.scheduler", "false") == "true"
        length_s = texts.number(properties, "ThreadGroup.duration", 0, DURATION_MAX_S)
        loops = properties.text("LoopController.loops", "-1")
        if properties.text("LoopController.continue_forever", "") != "true" and loops != "-1":
            self.source.note(place, f"{loops[:20]} loops for each thread: set the duration instead")
        if properties.text("ThreadGroup.delay", "0") not in {"", "0"}:
            self.source.note(place, "the delay of a thread group is not carried over")
        threads = max(1, threads)
        length_s = length_s if is_timed and length_s > 0 else 60.0
        if 0 < ramp_s < length_s:
            stages = [(f"{ramp_s:g}s", threads), (f"{length_s - ramp_s:g}s", threads)]
            return {"user_stages": stages, "share": threads}
        return {"users": threads, "duration": f"{length_s:g}s", "share": threads}

    def sampler(self, one: Element, below: Element | None, scope: Scope, task: Task) -> None:
        """Add the request of a sampler, with the elements below it."""
        inner = scope.inner()
        for child, _ in _pairs(below) if below is not None else ():
            if Properties(child).is_enabled:
                self.into_scope(child, inner)
        request: Request = sampler(Properties(one), inner.defaults, inner.headers, self.texts)
        for properties in inner.assertions:
            request.checks += assertion(properties, self.source)
        for properties in inner.extractors:
            request.extractions += extraction(properties, self.source, self.imported)
        if inner.pauses:
            least = sum(pause[0] for pause in inner.pauses)
            request.pause_s = (least, sum(pause[1] for pause in inner.pauses))
        name = " / ".join(inner.names) or None
        if not task.steps or task.steps[-1].name != name:
            task.steps.append(Step(name))
        task.steps[-1].requests.append(request)
