"""Rewrites the asserts of test helpers, so that a failure shows the compared values."""

import pytest

pytest.register_assert_rewrite("tests.e2e.support", "tests.faults.support")
