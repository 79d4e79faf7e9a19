"""The sampled calls of a run as an Arrow table: a row for each call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .extras import extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from ... import _native

NAMED = frozenset({"task", "call", "agent", "outcome"})
"""Columns of numbers that mean names."""


def sample_schema() -> pa.Schema:
    """Return the columns of the table and their types; raises MissingPackage."""
    pa = extra("pyarrow", "a table of samples")
    name = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("due", pa.timestamp("us", tz="UTC")),
            ("user", pa.int64()),
            ("generation", pa.int32()),
            ("arrival", pa.int64()),
            *((named, name) for named in ("task", "call", "agent")),
            ("status", pa.int16()),
            ("outcome", name),
            *((figure, pa.int64()) for figure in ("response_us", "service_us", "first_byte_us")),
            *((size, pa.int64()) for size in ("bytes_out", "bytes_in")),
            ("reused", pa.bool_()),
        ]
    )


def sample_batches(samples: _native.Samples) -> Iterator[pa.Table]:
    """Read the calls, some ten thousand at a time, in the order of the log."""
    schema = sample_schema()
    while (columns := samples.columns()) is not None:
        names = columns.pop("names")
        arrays = [
            _array(name, data, schema.field("due" if name == "due_us" else name), names)
            for name, data in columns.items()
        ]
        yield extra("pyarrow", "a table of samples").Table.from_arrays(arrays, schema=schema)


def sample_arrow(samples: _native.Samples) -> pa.Table:
    """Read all calls, sorted by due time."""
    pa = extra("pyarrow", "a table of samples")
    table = pa.concat_tables([sample_schema().empty_table(), *sample_batches(samples)])
    return table.unify_dictionaries().sort_by("due")


def _array(name: str, data: bytes, field: pa.Field, names: dict[str, list[str]]) -> Any:
    pa = extra("pyarrow", "a table of samples")
    compute = extra("pyarrow.compute", "a table of samples")
    numbers = pa.Array.from_buffers(pa.int64(), len(data) // 8, [None, pa.py_buffer(data)])
    absent = pa.scalar(None, pa.int64())
    numbers = compute.if_else(compute.less(numbers, 0), absent, numbers)
    if name in NAMED:
        return pa.DictionaryArray.from_arrays(numbers.cast(pa.int32()), pa.array(names[name]))
    return numbers.cast(field.type)
