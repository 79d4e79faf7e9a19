"""From a scenario file to a plan: load, judge, record, encode, check.

The result is data. Must never execute a task other than to record what was judged to be nothing
but requests, and must never turn what it does not understand into a request. Nothing is imported
here: an agent that plays a scenario needs to load it, and none of the rest.
"""
