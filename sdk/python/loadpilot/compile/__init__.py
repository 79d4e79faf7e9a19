"""The compiler: from a loaded scenario class to a plan, which is data only.

The parts in the order of a compilation: ``scenario`` reads the settings, ``recorded`` records tasks
of constant requests, ``code`` translates tasks with logic, ``plan`` puts the plan together and
checks it. A task is executed only to record it, after a check that it makes nothing but constant
requests. Code that the compiler does not understand runs in Python or is refused. ``json_tensors``
finds requests of a finished plan that would be faster as bytes. Nothing is imported here, to keep
imports small.
"""
