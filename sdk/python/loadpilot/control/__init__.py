"""Requesting, following and steering runs: shared by the command line and the gateway.

Imports nothing of ``loadpilot.cli``.

- the place of runs: ``nats_settings``, ``coordinator_address``, ``http_session``, ``protocols``
- a run under way: ``identity``, ``signals``, ``follow``, ``steering_result``
- teardowns: ``teardown_ledger``, ``http_teardown_ledger``, ``trust``
- its end: ``outcome``, ``exit_code``
- text: ``figures``, ``terminal``
"""
